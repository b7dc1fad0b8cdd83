import Foundation
import PostgresClient

/// Measures what a daemon without work costs a second.
struct IdleBench: Sendable {
    /// The time for which connections and senders settle; later a sender looks less often.
    private static let settling = 7.0

    let daemon: DaemonProcess
    let database: BenchDatabase
    let seconds: Double

    /// The counters at a point in time, or their growth a second.
    struct Counters {
        /// How often a thread of the daemon slept and was woken.
        var wakeups: Double
        var transactions: Double
        /// The CPU milliseconds of the daemon, and of all PostgreSQL processes.
        var daemon, postgres: Double
    }

    /// Measures a daemon that has sent pushes.
    func run() throws -> Counters {
        note("an idle daemon for \(Int(seconds)) s")
        let connection = try database.connect()
        defer { connection.close() }
        Thread.sleep(forTimeInterval: Self.settling)
        let before = try read(connection)
        Thread.sleep(forTimeInterval: seconds)
        let after = try read(connection)
        return Counters(
            wakeups: (after.wakeups - before.wakeups) / seconds,
            transactions: (after.transactions - before.transactions) / seconds,
            daemon: (after.daemon - before.daemon) / seconds,
            postgres: (after.postgres - before.postgres) / seconds
        )
    }

    private func read(_ connection: PostgresConnection) throws -> Counters {
        let server = ProcessFiles.children(of: database.server).flatMap { ProcessFiles.threadCPU(of: $0).values }
        return Counters(
            wakeups: Double(ProcessFiles.voluntarySwitches(of: daemon.process.processID)),
            transactions: try connection.number(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
            ),
            daemon: Double(ProcessFiles.threadCPU(of: daemon.process.processID).values.reduce(0, +)) / 1e6,
            postgres: Double(server.reduce(0, +)) / 1e6
        )
    }
}

extension BenchReport {
    /// Adds what an idle daemon costs.
    mutating func add(_ idle: [IdleBench.Counters]) {
        add("idle.wakeups", "idle daemon, wakeups", "/s", idle.map(\.wakeups), bar: .atMost(12))
        add("idle.transactions", "idle daemon, transactions", "/s", idle.map(\.transactions), bar: .atMost(8))
        add("idle.daemon.cpu", "idle daemon, its CPU", "ms/s", idle.map(\.daemon), bar: .atMost(0.5))
        add("idle.postgres.cpu", "idle daemon, PostgreSQL's CPU", "ms/s", idle.map(\.postgres), bar: .atMost(1))
    }
}
