import FanfareStore
import Foundation
import PostgresClient
import PrivateCluster
import Programs
import TestKit
import Threading

/// Three daemons on one database, with a fault proxy in each of their links, and the simulated providers.
///
/// The tests of a suite share a rig, one after the other. It uses only loopback, and removes everything it created.
final class Rig: Sendable {
    /// The in-flight budget of each daemon, low enough to be reached.
    static let unrecorded = 256
    static let app = "demo"
    /// A text in every message, which no log may contain.
    static let secret = "Confidential-7c1e"
    /// The password in the database's URL; the server trusts connections over loopback.
    static let password = "pw-5f0e2b"

    let cluster: PrivateCluster
    let sandbox: SandboxProcess
    let databaseName: String
    let seed: UInt64
    /// All log lines of all daemons.
    let log = Locked<[String]>([])
    /// The lines of the ledger read so far.
    let seen = Locked(LedgerMemory())
    /// The ports of the daemons over time.
    let register = Locked(DaemonRegister())
    private let fleet = Locked<[RigDaemon]>([])
    private let generator: Locked<SeededGenerator>
    private let directory: String

    /// Starts everything except the daemons.
    static func start(cluster: PrivateCluster? = nil, tablespace: String? = nil) async throws -> Rig {
        let server = try await onThread("cluster") { try cluster ?? .start(options: clusterOptions) }
        let name = "fault_" + UUID().uuidString.prefix(8).lowercased()
        do {
            try await onThread("schema") {
                try server.createDatabase(name)
                let connection = try PostgresConnection.open(PostgresOptions(url: server.connectionURL(database: name)))
                if let tablespace { try connection.execute("SET default_tablespace = '\(tablespace)'") }
                try connection.execute(Schema.sql)
                try connection.execute("SELECT fanfare.adopt()")
            }
            return Rig(server, try await SandboxProcess.start(), name)
        } catch {
            server.stop(.immediate)
            throw error
        }
    }

    /// Commits survive a crash of the server, but not of the machine.
    static let clusterOptions = ClusterOptions(
        durable: false,
        ephemeral: true,
        loopback: true,
        settings: ["synchronous_commit": "on", "full_page_writes": "on", "max_connections": "200"]
    )

    private init(_ cluster: PrivateCluster, _ sandbox: SandboxProcess, _ databaseName: String) {
        self.cluster = cluster
        self.sandbox = sandbox
        self.databaseName = databaseName
        seed = FaultSeed.next()
        generator = Locked(SeededGenerator(seed: seed))
        directory = sandbox.ready.directory
        report("fault suite: seed \(seed) (FANFARE_FAULT_SEED repeats it)")
    }

    /// The running daemons.
    var daemons: [RigDaemon] { fleet.withLock { $0 } }

    /// Returns a number that depends on the seed.
    func random(_ range: ClosedRange<Int>) -> Int {
        let (least, most) = (range.lowerBound, range.upperBound)
        return generator.withLock { .random(in: least...most, using: &$0) }
    }

    /// Starts daemons up to a number, and waits until each has its lease.
    func serve(_ count: Int, options: RigDaemon.Options = .init(), seconds: Int = 30) async throws {
        for index in 0..<count where !daemons.contains(where: { $0.index == index }) {
            let daemon = try await start(index, options)
            fleet.withLock { $0.append(daemon) }
        }
        try await until(
            """
            SELECT count(*) = \(count) FROM fanfare.instances
            WHERE lease_until > clock_timestamp() AND pid IN (\(daemons.map { "\($0.process.processID)" }.joined(separator: ",")))
            """,
            seconds: seconds
        )
    }

    private func start(_ index: Int, _ options: RigDaemon.Options) async throws -> RigDaemon {
        let proxies = (
            database: try FaultProxy(to: cluster.port), provider: try FaultProxy(to: sandbox.ready.tlsPort)
        )
        let configuration = directory + "/daemon\(index).yaml"
        let text = try String(contentsOfFile: sandbox.ready.configFile, encoding: .utf8)
            .replacing("https://localhost:\(sandbox.ready.tlsPort)", with: "https://localhost:\(proxies.provider.port)")
        try options.configuration(text).write(toFile: configuration, atomically: true, encoding: .utf8)
        let url = "postgres://postgres:\(Self.password)@127.0.0.1:\(proxies.database.port)/\(databaseName)"
        var options = options
        options.environment.merge(["FANFARE_SEND__UNRECORDED": "\(Self.unrecorded)", "FANFARE_SEND__BATCH": "100"]) {
            given,
            _ in given
        }
        let number = register.withLock { $0.add(port: proxies.provider.port) }
        return try await RigDaemon(
            index: index,
            number: number,
            configuration: configuration,
            databaseURL: url,
            proxies: proxies,
            options: options,
            allLines: log
        )
    }

    /// Ends a daemon by a signal, waits for its end, and removes it from the list.
    @discardableResult
    func end(_ daemon: RigDaemon, by signal: Int32) async -> Int32 {
        daemon.process.signal(signal)
        let status = await daemon.ended()
        retire(daemon)
        return status
    }

    private func retire(_ daemon: RigDaemon) {
        fleet.withLock { $0.removeAll { $0.index == daemon.index } }
        daemon.database.stop()
        daemon.provider.stop()
    }

    /// Stops everything, and deletes the files.
    func stop() async {
        for daemon in daemons {
            daemon.process.signal(SIGCONT)
            await end(daemon, by: SIGKILL)
        }
        await sandbox.stop()
        cluster.stop(.immediate)
    }

    /// Runs a body on a thread of its own with a connection that bypasses all proxies.
    func sql<Value: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> Value) async throws -> Value {
        let url = cluster.connectionURL(database: databaseName)
        return try await onThread("sql") {
            try body(.open(PostgresOptions(url: url, applicationName: "fault suite")))
        }
    }

    /// Waits until a query returns true; the server does the waiting.
    func until(_ query: String, seconds: Int) async throws {
        try await sql { connection in
            let patience = ContinuousClock.now + .seconds(seconds)
            while try connection.query(query).rows != [["t"]] {
                guard ContinuousClock.now < patience else { throw RigError(message: "never true: \(query)") }
                try connection.execute("SELECT pg_catalog.pg_sleep(0.02)")
            }
        }
    }
}

/// An error that makes a rig unusable.
struct RigError: Error, CustomStringConvertible {
    let message: String

    var description: String { message }
}

/// The seed of random parameters: printed, and set again to repeat a run.
enum FaultSeed {
    private static let first =
        ProcessInfo.processInfo.environment["FANFARE_FAULT_SEED"].flatMap { UInt64($0) }
        ?? .random(in: 0..<1_000_000)

    /// Returns the seed of a rig, the same for all rigs of a run.
    static func next() -> UInt64 { first }
}
