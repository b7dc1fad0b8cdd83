import CoreMetrics
import FanfareCore
import FanfareService
import Foundation
import Logging
import PostgresClient
import ServiceLifecycle
import TestKit
import Threading

@testable import FanfareAPI
@testable import FanfareConfiguration
@testable import FanfareDaemon
@testable import FanfareHTTP
@testable import FanfareMetrics
@testable import FanfareProviders
@testable import FanfareTools

/// An API server on its own port, beside a simulated daemon.
final class APIWorld: Sendable {
    let port: Int
    let metrics: MetricsRegistry
    private let standing: Locked<DaemonReadiness>
    private let inForce: Locked<Configuration>
    private let group: ServiceGroup
    private let running: Task<Void, any Error>
    /// Whether the configured database exists.
    private let hasDatabase: Bool

    private init(
        port: Int,
        metrics: MetricsRegistry,
        standing: Locked<DaemonReadiness>,
        inForce: Locked<Configuration>,
        group: ServiceGroup,
        running: Task<Void, any Error>,
        hasDatabase: Bool
    ) {
        (self.port, self.metrics, self.standing, self.group) = (port, metrics, standing, group)
        self.running = running
        self.inForce = inForce
        self.hasDatabase = hasDatabase
    }

    /// Returns a configuration for the running test's database.
    ///
    /// - Parameter more: further lines below `api:`.
    static func configuration(_ more: String = "", url: String = TestDatabase.current.url) throws -> Configuration {
        let yaml = "database: { url: \"\(url)\" }\napi:\n  listen: 127.0.0.1:0\n\(more)"
        return try .parse(yaml, named: "fanfare.yaml", directory: "/tmp", environment: [:], flags: [:])
    }

    /// Runs a body with a server, and shuts it down.
    static func with(
        _ more: String = "",
        times: ListenerTimes = ListenerTimes(),
        onlyHealth: Bool = false,
        _ body: (APIWorld) async throws -> Void
    ) async throws {
        try await with(configuration(more), times: times, onlyHealth: onlyHealth, body)
    }

    /// Runs a body with a server, and shuts it down.
    ///
    /// - Parameters:
    ///   - configuration: the configuration at the start, which ``reload(_:)`` replaces.
    ///   - times: the listener's timeouts.
    ///   - onlyHealth: whether to run the listener for probes.
    ///   - timelines: the timelines that the daemon's sessions have met.
    ///   - body: the test.
    static func with(
        _ configuration: Configuration,
        times: ListenerTimes = ListenerTimes(),
        onlyHealth: Bool = false,
        timelines: PostgresTimelines? = nil,
        _ body: (APIWorld) async throws -> Void
    ) async throws {
        let standing = Locked(DaemonReadiness(holdsLease: true, isListening: true, openBreakers: []))
        let inForce = Locked(configuration)
        let metrics = MetricsRegistry(describing: Daemon.metrics)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var daemon = ListenedDaemon(
            environment: [:],
            version: "test",
            logger: logger,
            metrics: metrics,
            configuration: { inForce.withLock { $0 } },
            readiness: { standing.withLock { $0 } }
        )
        daemon.timelines = timelines
        let (ports, heard) = AsyncStream.makeStream(of: Int.self)
        let hear = { @Sendable (place: ListenAddress) -> Void in
            if case .tcp(_, let port) = place { heard.yield(port) } else { heard.yield(0) }
        }
        let listener = APIListener(times: times, onHealthListening: hear, onListening: hear)
        guard let address = configuration.api.listen else { return }
        let service = try listener.open(at: address, for: daemon, onlyHealth: onlyHealth)
        let group = ServiceGroup(configuration: .init(services: [.init(service: service)], logger: logger))
        // Awaited below.
        let running = Task { try await group.run() }
        var iterator = ports.makeAsyncIterator()
        let port = await iterator.next() ?? 0
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(
                try await body(
                    APIWorld(
                        port: port,
                        metrics: metrics,
                        standing: standing,
                        inForce: inForce,
                        group: group,
                        running: running,
                        hasDatabase: configuration.database.url.connectionString == TestDatabase.current.url
                    )
                )
            )
        } catch {
            outcome = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await running.value
        try outcome.get()
    }

    /// Changes the simulated daemon's state.
    func stands(
        lease: Bool = true,
        listens: Bool = true,
        openBreakers: [String] = [],
        blownFuses: [String] = [],
        provedAt: Double? = nil
    ) {
        standing.withLock {
            $0 = DaemonReadiness(
                holdsLease: lease,
                isListening: listens,
                openBreakers: openBreakers,
                blownFuses: blownFuses,
                listenProvedAt: provedAt
            )
        }
    }

    /// Changes the configuration, as a reload does.
    func reload(_ change: @Sendable (inout Configuration) -> Void) {
        inForce.withLock { change(&$0) }
    }

    /// Starts the server's shutdown.
    func shutDown() async {
        await group.triggerGracefulShutdown()
    }

    /// Shuts the server down, and waits for its end.
    func stop() async throws {
        await shutDown()
        try await running.value
    }

    /// Creates a token named `test`.
    func token(_ scopes: TokenScope..., app: String? = nil, rate: Int32? = 1_000_000) async throws -> String {
        var request = APITokenRequest(name: "test", scopes: scopes)
        (request.app, request.rate) = (app, rate)
        let database = try ToolDatabase(APIWorld.configuration(), environment: [:])
        return try await database.whileOpen { [request] database throws(ToolError) in
            try await database.createToken(request).text
        }
    }

    /// Queries the test's database; values are text.
    func rows(_ sql: String) async throws -> [[String?]] {
        try await onThread { [database = TestDatabase.current] in try database.connect().query(sql).rows }
    }

    /// Sends a request on a connection of its own.
    ///
    /// Repeats it, as a client does, if a busy machine had no session in time.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - target: the path and query.
    ///   - body: the JSON body; nil for none.
    ///   - token: the bearer token.
    ///   - headers: further headers.
    func ask(
        _ method: String = "GET",
        _ target: String,
        _ body: String? = nil,
        token: String? = nil,
        _ headers: [String: String] = [:]
    ) async throws -> Reply {
        var reply = try await askOnce(method, target, body, token: token, headers)
        // The health checks report the current state, and without a database there is no session to wait for.
        for _ in 0..<20 where reply.status == 503 && hasDatabase && target != "/readyz" {
            reply = try await askOnce(method, target, body, token: token, headers)
        }
        return reply
    }

    private func askOnce(
        _ method: String,
        _ target: String,
        _ body: String?,
        token: String?,
        _ headers: [String: String]
    ) async throws -> Reply {
        let port = port
        return try await onThread("client") {
            let wire = try Wire(port: port)
            var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
            if let token { head += "Authorization: Bearer \(token)\r\n" }
            for (name, value) in headers { head += "\(name): \(value)\r\n" }
            if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
            wire.send("\(head)\r\n\(body ?? "")")
            return try wire.reply()
        }
    }
}

/// Tokens that were never created.
enum APITokens {
    /// A token of the right form.
    static let unknown = APIToken(id: 1, secret: String(repeating: "ab", count: 32)).text
}
