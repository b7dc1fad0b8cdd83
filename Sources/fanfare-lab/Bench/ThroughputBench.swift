import FanfareCore
import Foundation
import PostgresClient
import Threading

/// Measures how fast the daemon sends what is emitted, and what that costs.
struct ThroughputBench: Sendable {
    /// The result of one load.
    struct Result: Sendable {
        let pushes: Double
        let seconds: Double
        let usage: Usage
        /// The resident bytes: the peak, and the median over the load.
        let peak: Double
        let steady: Double

        var rate: Double { pushes / seconds }
    }

    let daemon: DaemonProcess
    let database: BenchDatabase

    /// Runs a backlog of events with one recipient each, all visible at once.
    func backlog(_ events: Int) throws -> Result {
        let connection = try database.connect()
        defer { connection.close() }
        try connection.execute("BEGIN")
        _ = try connection.query(
            """
            SELECT count(fanfare.emit('bench.one', jsonb_build_object('user', 'u' || 1 + n * 7919 % $2::bigint, 'n', n)))
            FROM generate_series(1, $1::bigint) AS n
            """,
            String(events),
            String(database.devices)
        )
        return try measure(on: connection, pushes: events) { try connection.execute("COMMIT") }
    }

    /// Runs events with one recipient each, one per transaction, emitted by several writers while the daemon sends.
    func stream(_ events: Int, writers: Int) throws -> Result {
        let connection = try database.connect()
        defer { connection.close() }
        let (turns, devices) = (Turns(events), database.devices)
        let sessions = Writers(writers, to: database) { session in
            while let number = turns.next() {
                try session.run(SQL.emitOne("u\(1 + number * 7919 % devices)", Int64(number)))
            }
        }
        return try measure(on: connection, pushes: events) { try sessions.run() }
    }

    /// Inserts into a plain table by as many writers, as the machine's rate for the same commits without Fanfare.
    ///
    /// - Returns: the commits per second.
    func inserts(_ rows: Int, writers: Int) throws -> Double {
        let turns = Turns(rows)
        let sessions = Writers(writers, to: database) { session in
            while turns.next() != nil { try session.run(SQL.insertPlain()) }
        }
        let start = KernelClock.monotonic.microseconds
        try sessions.run()
        return Double(rows) * 1_000_000 / Double(KernelClock.monotonic.microseconds - start)
    }

    /// Runs one event to all devices, in the bulk lane.
    ///
    /// - Parameter event: the event type; `bench.capped` has a frequency cap per user.
    /// - Returns: the result.
    /// - Throws: the database's error, and an error if a push was not accepted.
    func broadcast(_ event: String = "bench.broadcast") throws -> Result {
        let connection = try database.connect()
        defer { connection.close() }
        // Otherwise autovacuum would free pages of the load before meanwhile, and this load would be credited with
        // them.
        try connection.execute("VACUUM")
        return try measure(on: connection, pushes: database.devices) {
            _ = try connection.query("SELECT fanfare.emit($1, '{\"title\": \"News\"}')", event)
        }
    }

    /// Runs a load and waits until the last outcome is recorded.
    private func measure(on connection: PostgresConnection, pushes: Int, load: () throws -> Void) throws -> Result {
        // On a connection of its own, because `connection` may be inside the load's transaction.
        let watcher = try database.connect()
        defer { watcher.close() }
        let acceptedBefore = try watcher.number(Self.accepted)
        ProcessFiles.resetPeak(of: daemon.process.processID)
        let before = try Usage.read(daemon, database, watcher)
        let start = try watcher.clock()
        try load()
        var resident: [Double] = []
        try daemon.waitUntilIdle(on: watcher) {
            resident.append(ProcessFiles.memory(of: daemon.process.processID).now)
        }
        let end = try watcher.number("SELECT extract(epoch FROM max(closed_at)) FROM fanfare.batch_log")
        let usage = try Usage.read(daemon, database, watcher) - before
        let accepted = try watcher.number(Self.accepted) - acceptedBefore
        guard Int(accepted) == pushes else {
            throw BenchError("of \(pushes) pushes \(Int(accepted)) were accepted; figures of failures mean nothing")
        }
        return Result(
            pushes: Double(pushes),
            seconds: end - start,
            usage: usage,
            peak: ProcessFiles.memory(of: daemon.process.processID).peak,
            steady: resident.sorted()[resident.count / 2]
        )
    }

    private static let accepted = """
        SELECT coalesce(sum(deliveries), 0)
        FROM (SELECT deliveries, outcome FROM fanfare.stats_pending UNION ALL SELECT deliveries, outcome FROM fanfare.stats) AS s
        WHERE outcome = \(Outcome.accepted.rawValue)
        """
}

extension SQL {
    /// Emits an event for one user.
    ///
    /// Binds: user, number.
    static let emitOne = Statement<Void, String, Int64>(
        "bench_emit_one",
        "SELECT fanfare.emit('bench.one', jsonb_build_object('user', $1::text, 'n', $2::bigint))"
    )
}
