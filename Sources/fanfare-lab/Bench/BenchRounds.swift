import ArgumentParser
import FanfareService
import Foundation
import PostgresClient
import Threading

/// `fanfare bench rounds`: measures whether planning slows down while a session holds an old snapshot.
struct BenchRounds: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rounds",
        abstract: "Measure planning of 100 events beside a session that has been open for long.",
        discussion: """
            A forgotten session keeps PostgreSQL from clearing away what was planned since. Three phases of the same \
            load: no session, a reader, a writer holds a transaction open.
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: "Seconds of load in each phase, before its rounds are timed.")
    var seconds = 300.0

    @Option(help: "Events per second of the load.")
    var rate = 2000

    @Option(help: "Rounds timed in each phase.")
    var rounds = 51

    func validate() throws {
        guard seconds >= 0, rate > 0, rounds > 0 else {
            throw ValidationError("--rate and --rounds must be at least 1, --seconds at least 0")
        }
    }

    func run() async throws {
        let report = try await BenchPlace.use { place in
            let (_, sink) = try await place.startSandbox(named: "sandbox", keepsLedger: false)
            let (database, configuration) = try await place.startDatabase(devices: 1, sink: sink)
            return try await blocking { [seconds, rate, rounds] in
                let daemon = try DaemonProcess.start(
                    named: "rounds",
                    configuration: configuration,
                    database: database,
                    in: place
                )
                defer { daemon.process.stop() }
                let bench = RoundBench(daemon: daemon, database: database, seconds: seconds, rate: rate, rounds: rounds)
                var report = BenchReport(
                    setting: [
                        "seconds": "\(seconds)", "rate": "\(rate)", "rounds": "\(rounds)", "version": Program.version,
                    ]
                )
                let alone = try bench.phase("no session", holding: nil)
                let reader = try bench.phase("a reader", holding: "SELECT count(*) FROM fanfare.event_log")
                let writer = try bench.phase(
                    "a writer",
                    holding: "CREATE TEMPORARY TABLE held AS SELECT pg_current_xact_id()"
                )
                report.add("rounds.alone", "100 events planned, alone", "ms", [alone])
                report.add("rounds.reader", "beside a reader", "ms", [reader])
                report.add("rounds.reader.ratio", "    over alone", "×", [reader / alone], bar: .atMost(2))
                report.add("rounds.writer", "beside a writer", "ms", [writer])
                report.add("rounds.writer.ratio", "    over alone", "×", [writer / alone], bar: .atMost(2))
                return report
            }
        }
        try options.show(report)
    }
}

/// Measures planning rounds after a load.
struct RoundBench: Sendable {
    let daemon: DaemonProcess
    let database: BenchDatabase
    let seconds: Double
    let rate: Int
    let rounds: Int

    /// Runs the load, then measures planning rounds, beside a transaction that began before.
    ///
    /// - Parameters:
    ///   - title: the title for the operator.
    ///   - sql: the statement of the old transaction; nil for no transaction.
    /// - Returns: the median of the rounds in milliseconds.
    /// - Throws: the database's error.
    func phase(_ title: String, holding sql: String?) throws -> Double {
        note("\(title) in the way: \(Int(seconds)) s of \(rate) events a second")
        let holder = try database.connect()
        defer { holder.close() }
        if let sql {
            try holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            try holder.execute(sql)
        }
        let connection = try database.connect()
        defer { connection.close() }
        try keepUpLoad(on: connection)
        try daemon.waitUntilIdle(on: connection)
        var times: [Double] = []
        for _ in 0..<rounds { times.append(try round(on: connection)) }
        return times.sorted()[rounds / 2] * 1000
    }

    private func keepUpLoad(on connection: PostgresConnection) throws {
        let ticks = Int(seconds * 100)
        let start = KernelClock.monotonic.microseconds
        for tick in 0..<ticks {
            // Scheduled by the clock, so that a slow daemon does not reduce its own load.
            let wait = start + Int64(tick) * 10_000 - KernelClock.monotonic.microseconds
            if wait > 0 { Thread.sleep(forTimeInterval: Double(wait) / 1_000_000) }
            try emit(max(1, rate / 100), on: connection)
        }
    }

    /// - Returns: the seconds from the commit of 100 events until the last one is planned.
    private func round(on connection: PostgresConnection) throws -> Double {
        let before = try connection.clock()
        try emit(100, on: connection)
        try daemon.waitUntilIdle(on: connection)
        let planned =
            "SELECT extract(epoch FROM max(planned_at)) FROM fanfare.event_log WHERE created_at >= to_timestamp($1)"
        guard let end = Double(try connection.query(planned, String(before)).rows.first?.first.flatMap { $0 } ?? "")
        else {
            throw BenchError("100 events were emitted, and none was planned")
        }
        return end - before
    }

    private func emit(_ count: Int, on connection: PostgresConnection) throws {
        _ = try connection.query(
            "SELECT count(fanfare.emit('bench.none', '{\"user\": \"u1\"}')) FROM generate_series(1, $1::bigint)",
            String(count)
        )
    }
}
