import ArgumentParser
import FanfareService
import Foundation
import PostgresClient
import Threading

/// `fanfare bench emit`: measures what an event costs the transaction that emits it.
struct BenchEmit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "emit",
        abstract: "Measure how fast events are emitted, against inserts into a plain table.",
        discussion: """
            Each event and each row is a transaction of its own. No rule takes the events, so that the daemon plans and \
            logs them and sends nothing.
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: "Seconds each load is kept up.")
    var seconds = 5.0

    func validate() throws {
        guard seconds > 0 else { throw ValidationError("--seconds must be more than 0") }
    }

    func run() async throws {
        let report = try await BenchPlace.use { place in
            let (_, sink) = try await place.startSandbox(named: "sandbox", keepsLedger: false)
            let (database, configuration) = try await place.startDatabase(devices: 1, sink: sink)
            return try await blocking { [seconds, runs = options.runs] in
                var report = BenchReport(setting: [
                    "seconds": "\(seconds)", "runs": "\(runs)", "version": Program.version,
                ])
                let rates = try EmitRates(
                    database,
                    configuration: configuration,
                    seconds: seconds,
                    runs: runs,
                    in: place
                )
                report.add(rates)
                return report
            }
        }
        try options.show(report)
    }
}

/// The commits per second of inserts into a plain table, of emits, and of inserts into the outbox.
struct EmitRates: Sendable {
    struct Load: Hashable {
        let writers: Int
        let hasDaemon: Bool
    }

    /// A rate for each run.
    private(set) var inserts: [Load: [Double]] = [:]
    private(set) var emits: [Load: [Double]] = [:]
    private(set) var outboxInserts: [Load: [Double]] = [:]

    private let database: BenchDatabase
    private let seconds: Double

    /// Runs each load as often as requested.
    init(
        _ database: BenchDatabase,
        configuration: String,
        seconds: Double,
        runs: Int,
        in place: BenchPlace
    ) throws {
        self.database = database
        self.seconds = seconds
        let connection = try database.connect()
        defer { connection.close() }
        for run in 1...runs {
            note("run \(run) of \(runs): no daemon")
            try measure(hasDaemon: false)
            // A daemon would start with this backlog, and the next writers would run beside it.
            try connection.execute("TRUNCATE fanfare.outbox, plain")
            note("run \(run) of \(runs): a daemon drains")
            let daemon = try DaemonProcess.start(
                named: "emit\(run)",
                configuration: configuration,
                database: database,
                in: place
            )
            defer { daemon.process.stop() }
            try measure(hasDaemon: true)
            try daemon.waitUntilIdle(on: connection)
        }
    }

    private mutating func measure(hasDaemon: Bool) throws {
        for writers in [8, 32] {
            let load = Load(writers: writers, hasDaemon: hasDaemon)
            // Alternates every second, because the speed of a machine may halve within minutes.
            let turns = max(1, Int(seconds.rounded()))
            var (inserted, emitted, wrote) = (0.0, 0.0, 0.0)
            for _ in 0..<turns {
                inserted += try rate(of: SQL.insertPlain(), writers: writers, seconds: seconds / Double(turns))
                emitted += try rate(of: SQL.emitUnmatched(), writers: writers, seconds: seconds / Double(turns))
                wrote += try rate(of: SQL.insertUnmatched(), writers: writers, seconds: seconds / Double(turns))
            }
            inserts[load, default: []].append(inserted / Double(turns))
            emits[load, default: []].append(emitted / Double(turns))
            outboxInserts[load, default: []].append(wrote / Double(turns))
        }
    }

    /// - Returns: the commits per second of all writers.
    private func rate(of statement: some BoundStatement, writers: Int, seconds: Double) throws -> Double {
        // A session's first statement is planned and compiled, which slows down the other sessions too.
        let once = { @Sendable (session: PostgresConnection) throws in _ = try session.runReturningCount(statement) }
        return try Writers(writers, to: database, preparation: once) { session in
            let start = KernelClock.monotonic.microseconds
            let end = start + Int64(seconds * 1_000_000)
            var count = 0
            while KernelClock.monotonic.microseconds < end {
                _ = try session.runReturningCount(statement)
                count += 1
            }
            return Double(count) * 1_000_000 / Double(KernelClock.monotonic.microseconds - start)
        }.run().reduce(0, +)
    }
}

extension SQL {
    /// Emits the row of ``insertPlain`` as an event that no rule matches.
    static let emitUnmatched = Statement<Void>(
        "bench_emit_unmatched",
        "SELECT fanfare.emit('bench.none', '{\"user\": \"u1\", \"n\": 1}')"
    )

    /// Inserts the event of ``emitUnmatched`` into the outbox.
    static let insertUnmatched = Statement<Void>(
        "bench_insert_unmatched",
        """
        INSERT INTO fanfare.outbox (type, payload) VALUES ('bench.none', '{"user": "u1", "n": 1}') RETURNING id
        """
    )
}

extension BenchReport {
    /// Adds the rates and their ratios.
    mutating func add(_ rates: EmitRates) {
        for (hasDaemon, daemon, id) in [(true, "while a daemon drains", "draining"), (false, "no daemon", "alone")] {
            for (writers, bar) in [(8, 0.75), (32, 0.70)] {
                let load = EmitRates.Load(writers: writers, hasDaemon: hasDaemon)
                let (inserts, emits) = (rates.inserts[load] ?? [], rates.emits[load] ?? [])
                let what = "\(writers) writers, \(daemon)"
                add("insert.\(id).\(writers)", "inserts, \(what)", "/s", inserts)
                add("emit.\(id).\(writers)", "emits, \(what)", "/s", emits)
                let ratios = zip(emits, inserts).map { $0 / $1 }
                add("emit.ratio.\(id).\(writers)", "    emits over inserts", "×", ratios, bar: .atLeast(bar))
                let outbox = zip(rates.outboxInserts[load] ?? [], inserts).map { $0 / $1 }
                add("outbox.ratio.\(id).\(writers)", "    inserts into the outbox over inserts", "×", outbox)
            }
        }
    }
}
