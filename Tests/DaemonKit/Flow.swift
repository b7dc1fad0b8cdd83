import FanfareCore
import FanfareMetrics
import Foundation
import Logging
import PostgresClient
import PushTransport
import ServiceLifecycle
import TestKit
import Testing
import Threading

@testable import FanfareConfiguration
@testable import FanfareLogging
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// A daemon in this process, on a test's database, pushing to the simulated services.
struct Flow {
    let database: TestDatabase
    let sandbox: SandboxProcess
    /// The daemon of ``run(_:_:)``.
    private(set) var daemon: Daemon?

    init(database: TestDatabase, sandbox: SandboxProcess) {
        self.database = database
        self.sandbox = sandbox
    }

    /// Runs a daemon while a test's body runs, and drains it.
    ///
    /// - Parameters:
    ///   - change: changes the default configuration.
    ///   - body: the test.
    /// - Returns: the daemon's log.
    @discardableResult
    static func run(
        _ change: (inout Configuration) -> Void = { _ in },
        _ body: (Flow) async throws -> Void
    ) async throws -> [String] {
        var flow = try Flow.idle()
        var configuration = try flow.configuration()
        change(&configuration)
        let log = Locked<[String]>([])
        let output = LogOutput(
            configuration.log,
            colour: false,
            now: { LogTimestamp(microsecondsSince1970: 0) },
            writer: LogWriter { bytes in log.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) } }
        )
        let logger = output.logger()
        try await flow.adopt(as: configuration.installation)
        let daemon = try Daemon(
            configuration: configuration,
            environment: [:],
            version: "test",
            logger: logger,
            metrics: MetricsRegistry()
        )
        flow.daemon = daemon
        let group = ServiceGroup(services: daemon.services, logger: logger)
        let running = Task { try await group.run() }
        let outcome: Result<Void, any Error>
        do {
            #expect(await daemon.waitUntilListening())
            try await body(flow)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await group.triggerGracefulShutdown()
        try await running.value
        output.close()
        try outcome.get()
        return log.withLock { $0.joined() }.split(separator: "\n").map(String.init)
    }

    /// Makes the test's database belong to an installation, so that it may send.
    func adopt(as installation: String?) async throws {
        try await sql { _ = try $0.connection.query("SELECT fanfare.adopt($1)", installation) }
    }

    /// Returns the test's database and the suite's simulated services, without a daemon.
    static func idle() throws -> Flow {
        Flow(
            database: .current,
            sandbox: try #require(FlowSandboxTrait.sandbox, "give the suite the trait .flowSandbox")
        )
    }

    /// Returns the sandbox's own configuration, for app `shop` and this database.
    func configuration() throws -> Configuration {
        var configuration = try Configuration.load(
            file: sandbox.ready.configFile,
            environment: [:],
            flags: ["database.url": database.url]
        )
        configuration.apps = ["shop": try #require(configuration.apps.values.first)]
        return configuration
    }

    /// Makes the daemon load a changed configuration.
    func reload(_ change: (inout Configuration) -> Void) throws {
        var fresh = try configuration()
        change(&fresh)
        try #require(daemon).apply(fresh)
    }

    /// Uses the database on a separate thread.
    func sql<Value: Sendable>(_ body: @escaping @Sendable (World) throws -> Value) async throws -> Value {
        try await onThread { [database] in
            let world = try World(database)
            // The suite's time limit bounds a test's own statements, however busy the machine is.
            world.connection.allowAnswers(within: .seconds(600))
            try world.connection.execute("SET statement_timeout = 0")
            return try body(world)
        }
    }

    /// Waits until a query returns true.
    func until(_ query: String, seconds: Int = 90) async throws {
        try await sql { world in try world.connection.waitUntil(query, seconds: seconds) }
    }

    /// Waits until no work is left for planning or immediate sending.
    func untilIdle(seconds: Int = 90) async throws {
        try await until(
            """
            SELECT NOT EXISTS (SELECT FROM fanfare.outbox) AND NOT EXISTS (SELECT FROM fanfare.plans)
                AND NOT EXISTS (SELECT FROM fanfare.audience_queries)
                AND NOT EXISTS (SELECT FROM fanfare.batches WHERE owner IS NOT NULL OR not_before < now() + interval '20 s')
            """,
            seconds: seconds
        )
    }

    /// Waits for pushes to tokens with a prefix; the sandbox does the waiting.
    func pushes(_ count: Int, to prefix: String) async throws -> [ReceivedPush] {
        var found: [ReceivedPush] = []
        var seen = 0
        let patience = ContinuousClock.now + .seconds(120)
        while found.count < count && ContinuousClock.now < patience {
            _ = try await sandbox.awaitCounts(received: seen + 1, seconds: 2)
            let new = try await sandbox.received(after: seen)
            seen = new.last?.number ?? seen
            found += new.filter { $0.token.hasPrefix(prefix) }
        }
        #expect(found.count >= count, "pushes to \(prefix)")
        return found
    }

    /// Returns all pushes so far to tokens with a prefix.
    func received(by prefix: String) async throws -> [ReceivedPush] {
        try await sandbox.received().filter { $0.token.hasPrefix(prefix) }
    }
}

extension ReceivedPush {
    /// The device token in the request's path.
    var token: String { String(path.split(separator: "/").last ?? "") }

    /// Returns the body's value at a key path of objects.
    func json(_ keys: String...) throws -> JSONValue? {
        try keys.reduce(JSONValue?.some(JSONValue(parsing: body ?? ""))) { value, key in value?[key] }
    }
}

/// The simulated services for the tests of a suite, with faults selected by the start of the token.
struct FlowSandboxTrait: SuiteTrait, TestScoping {
    @TaskLocal static var sandbox: SandboxProcess?

    /// The faults in force while a test has not replaced them.
    static let faults = """
        [
          {"match": {"token": "^e500"}, "do": "status", "status": 500, "reason": "InternalServerError", "times": 1},
          {"match": {"token": "^e410"}, "do": "status", "status": 410, "reason": "Unregistered"},
          {"match": {"token": "^e411"}, "do": "status", "status": 410, "reason": "Unregistered", "timestamp_age_ms": 3600000},
          {"match": {"token": "^e400"}, "environment": "production", "do": "status", "reason": "BadDeviceToken"},
          {"match": {"token": "^e401"}, "do": "status", "reason": "BadDeviceToken"},
          {"match": {"token": "^e429"}, "do": "status", "reason": "TooManyRequests"},
          {"match": {"token": "^e403"}, "do": "status", "reason": "DeviceTokenNotForTopic"},
          {"match": {"token": "^ec10"}, "do": "close", "times": 1},
          {"match": {"token": "^ec11"}, "do": "close"},
          {"match": {"token": "^ef00"}, "do": "slow", "ms": 60},
          {"match": {"token": "^ef10"}, "do": "slow", "ms": 10000},
          {"provider": "fcm", "match": {"token": "^again"}, "do": "status", "status": 503, "reason": "UNAVAILABLE", "times": 1},
          {"provider": "fcm", "match": {"token": "^gone"}, "do": "status", "reason": "UNREGISTERED"},
          {"provider": "fcm", "match": {"token": "^html"}, "do": "status", "status": 502, "body": "<html>Bad Gateway</html>", "times": 1},
          {"provider": "fcm", "match": {"token": "^stale"}, "do": "status", "status": 401, "times": 1},
          {"provider": "webpush", "match": {"token": "again"}, "do": "status", "status": 503, "times": 1},
          {"provider": "webpush", "match": {"token": "gone"}, "do": "status", "status": 410},
          {"provider": "webpush", "match": {"token": "large"}, "do": "status", "status": 413},
          {"provider": "webpush", "match": {"token": "moved"}, "do": "status", "status": 307, "location": "http://169.254.169.254/"}
        ]
        """

    /// Applied once to the suite, not to each of its tests.
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let sandbox = try await SandboxProcess.start()
        let outcome: Result<Void, any Error>
        do {
            try await sandbox.setFaults(Self.faults)
            try await Self.$sandbox.withValue(sandbox) { try await function() }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await sandbox.stop()
        try outcome.get()
    }
}

extension Trait where Self == FlowSandboxTrait {
    /// The trait for simulated services that the suite's tests share.
    static var flowSandbox: Self { Self() }
}
