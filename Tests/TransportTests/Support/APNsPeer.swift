import Foundation
import PushCrypto
import PushTransport
import TestKit

/// A sandbox as a separate process, and requests that its APNs accepts.
struct APNsPeer {
    let sandbox: SandboxProcess
    let head: HeaderBlock

    /// Runs a test against a new sandbox.
    static func with(_ faults: String? = nil, _ body: (APNsPeer) async throws -> Void) async throws {
        let sandbox = try await SandboxProcess.start()
        do {
            if let faults { try await sandbox.setFaults(faults) }
            try await body(APNsPeer(sandbox))
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private init(_ sandbox: SandboxProcess) throws {
        self.sandbox = sandbox
        let key = try SigningKey.load(pemFile: sandbox.ready.directory + "/AuthKey_SIMKEY0001.p8", expecting: .es256)
        let issuedAt = Int64(Date().timeIntervalSince1970)
        let token = try JSONWebToken.sign(
            header: ["kid": "SIMKEY0001"],
            claims: ["iss": "SIMTEAM001", "iat": .integer(issuedAt)],
            with: key
        )
        head = try HeaderBlock(
            [
                HeaderField("authorization", "bearer \(token)"),
                HeaderField("apns-topic", "com.example.demo"),
                HeaderField("apns-push-type", "alert"),
            ],
            varyingName: "apns-id"
        )
    }

    var endpoint: Endpoint {
        get throws { try Endpoint("https://localhost:\(sandbox.ready.tlsPort)") }
    }

    /// Returns options that trust the sandbox.
    var options: TransportOptions {
        var options = TransportOptions()
        options.caFile = sandbox.ready.caFile
        return options
    }

    /// Returns requests numbered from 0, with matching number, device token and `apns-id`.
    func requests(
        _ numbers: Range<Int>,
        deadline: Duration = .seconds(15),
        origin: Endpoint? = nil
    ) throws -> [PushRequest] {
        let body = PushBody(Array(#"{"aps":{"alert":"x"}}"#.utf8))
        return try numbers.map { number in
            try PushRequest(
                tag: UInt64(number),
                path: Array("/3/device/\(hexadecimal(number, digits: 64))".utf8),
                head: head,
                varyingValue: Array(Self.apnsID(number).utf8),
                body: body,
                deadline: deadline,
                origin: origin
            )
        }
    }

    static func apnsID(_ number: Int) -> String {
        "00000000-0000-4000-8000-" + hexadecimal(number, digits: 12)
    }

    /// Returns how often each `apns-id` arrived.
    func arrivals() async throws -> [String: Int] {
        try await sandbox.received().reduce(into: [:]) { $0[$1.headers["apns-id"] ?? "", default: 0] += 1 }
    }
}

func hexadecimal(_ number: Int, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: digits - text.count) + text
}

/// Returns a regular expression for the tokens of some numbers.
func tokens(_ numbers: Range<Int>) -> String {
    "^(" + numbers.map { hexadecimal($0, digits: 64) }.joined(separator: "|") + ")$"
}

/// The results of a sender thread.
struct Delivery: Sendable {
    var answers: [PushAnswer] = []
    var state = TransportState()
    /// The maximum number of requests in flight.
    var mostInFlight = 0

    /// The answers by tag.
    var byTag: [UInt64: [PushAnswer]] { Dictionary(grouping: answers, by: \.tag) }

    func count(_ fate: Fate) -> Int { answers.count { $0.fate == fate } }
}

/// Sends all requests as slots become free, on a separate thread like a sender.
///
/// - Parameters:
///   - stop: ends the sending before all requests are answered; those in flight are then closed.
func deliver(
    _ requests: [PushRequest],
    to endpoint: Endpoint,
    _ options: TransportOptions,
    by transport: Transport,
    within limit: Duration = .seconds(30)
) async throws -> Delivery {
    try await deliver(requests, within: limit) { try transport.open(endpoint, options) }
}

/// Sends all requests as slots become free, on a separate thread, with a transport that is created there.
func deliver(
    _ requests: [PushRequest],
    within limit: Duration = .seconds(30),
    by makeTransport: @escaping @Sendable () throws -> any PushTransport
) async throws -> Delivery {
    try await onThread("sender") {
        let client = try makeTransport()
        var delivery = Delivery()
        var rest = requests[...]
        let end = ContinuousClock.now.advanced(by: limit)
        while delivery.answers.count < requests.count && ContinuousClock.now < end {
            rest = rest.dropFirst(client.submit(rest))
            delivery.mostInFlight = max(delivery.mostInFlight, client.inFlight)
            client.poll(timeout: .milliseconds(500), into: &delivery.answers)
        }
        delivery.state = client.state
        client.close(into: &delivery.answers)
        return delivery
    }
}
