import Glibc
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Endpoints come from browsers, so they are not trusted: the daemon must never connect to a forbidden address.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct ForbiddenDestinationTests {
    private func send(to places: [String], _ flow: Flow) async throws -> [String] {
        let keys = try await flow.sandbox.subscription("forbidden").keys
        try await flow.sql { world in
            for place in places {
                _ = try world.connection.query(
                    "SELECT fanfare.register_device('shop', 'webpush', $1, 'u', p256dh => $2, auth => $3)",
                    place,
                    keys.p256dh,
                    keys.auth
                )
            }
            try world.rule("all", event: "all", to: #"{"users": "$.user"}"#)
            try world.emit("all", #"{"user": "u"}"#)
        }
        try await flow.until(
            "SELECT count(*) = \(places.count) FROM fanfare.deliveries WHERE outcome NOT IN ('pending', 'retrying')"
        )
        return try await flow.sql { world in
            try world.connection.column(
                """
                SELECT outcome || '/' || reason FROM fanfare.deliveries WHERE outcome NOT IN ('pending', 'retrying')
                ORDER BY device_id
                """
            )
        }
    }

    @Test func privateAddressesAreNotConnectedTo() async throws {
        let trap = try Trap(address: "127.0.0.1")
        try await Flow.run({
            $0.apps["shop"]?.webPush?.allowedHosts = ["*", "localhost:\(trap.port)", "127.0.0.1:\(trap.port)"]
            $0.apps["shop"]?.webPush?.allowedNetworks = []
        }) { flow in
            let places = [
                // A name that resolves to a forbidden address, and forbidden addresses in various notations.
                "https://localhost:\(trap.port)/a", "https://127.0.0.1:\(trap.port)/b",
                "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/c", "https://[::1]/d",
                "https://[::ffff:10.0.0.1]/e", "https://[::ffff:7f00:1]/f", "https://[64:ff9b::a00:1]/g",
            ]
            let outcomes = try await send(to: places, flow)
            #expect(outcomes == places.map { _ in "refused/destination_forbidden" })
        }
        #expect(trap.isUntouched)
    }

    @Test func redirectsAreAnswersAndNotFollowed() async throws {
        // The address itself is allowed: it stays untouched only because redirects are not followed.
        let trap = try Trap(address: "127.0.0.1")
        try await Flow.run { flow in
            try await flow.sandbox.setFaults(
                #"""
                [{"provider": "webpush", "do": "status", "status": 307, "location": "https://127.0.0.1:\#(trap.port)/"}]
                """#
            )
            let browser = try await flow.sandbox.subscription("redirected")
            #expect(try await send(to: [browser.endpoint], flow) == ["rejected/status_3xx"])
        }
        #expect(trap.isUntouched)
    }
}

/// A port that must not be connected to.
private final class Trap {
    let port: UInt16
    private let handle: Int32

    init(address: String) throws {
        let handle = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        self.handle = handle
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = inet_addr(address)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &place) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { place in
                bind(handle, place, size) == 0 && listen(handle, 8) == 0 && getsockname(handle, place, &size) == 0
            }
        }
        port = UInt16(bigEndian: place.sin_port)
        try #require(isBound)
    }

    deinit { close(handle) }

    /// Whether no connection is waiting to be accepted.
    var isUntouched: Bool { accept(handle, nil, nil) < 0 && errno == EAGAIN }
}
