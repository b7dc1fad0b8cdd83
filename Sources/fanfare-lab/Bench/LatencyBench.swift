import Foundation
import PostgresClient
import PushSandbox
import Threading

/// Measures the latency from sending COMMIT to the complete request at the provider, on one clock (CLOCK_MONOTONIC).
///
/// Events are emitted on a schedule, without waiting for earlier ones: a slow event delays no other sample.
struct LatencyBench: Sendable {
    /// The prefix of the collapse id of a push of ``SQL/emitSample``, before the number.
    static let collapsePrefix = "sample-"

    let daemon: DaemonProcess
    let database: BenchDatabase
    let samples: Int

    /// The microseconds on CLOCK_MONOTONIC before COMMIT, by the sample's number.
    typealias Commits = [Int: Int64]

    /// Emits all samples, on an idle daemon and beside a broadcast.
    ///
    /// - Returns: the commits, and what all events on the idle daemon used.
    func run() throws -> (idle: Commits, usage: Usage, busy: Commits) {
        note("latency of \(samples) events on an idle daemon")
        let (idle, usage) = try idle()
        note("latency of \(samples) events while a broadcast runs")
        return (idle, usage, try duringBroadcast())
    }

    /// Emits to an idle daemon.
    private func idle() throws -> (Commits, Usage) {
        let connection = try database.connect()
        defer { connection.close() }
        let before = try Usage.read(daemon, database, connection)
        let commits = try emit(from: 0, on: connection)
        try daemon.waitUntilIdle(on: connection)
        return (commits, try Usage.read(daemon, database, connection) - before)
    }

    /// Emits while broadcasts run in the bulk lane, one after the other; the rest of the last one is cancelled at the
    /// end.
    private func duringBroadcast() throws -> Commits {
        let connection = try database.connect()
        defer { connection.close() }
        var events: [String] = []
        let commits = try emit(from: samples, on: connection) {
            // The last broadcast is planned and almost sent. The sample before may still be in the outbox.
            let left = try connection.number(
                """
                SELECT (SELECT count(*) FROM fanfare.outbox WHERE type = 'bench.broadcast')
                    + (SELECT count(*) FROM fanfare.plans) + (SELECT count(*) / 8 FROM fanfare.batches WHERE lane = 2)
                """
            )
            guard left == 0 else { return }
            let event = try connection.query("SELECT fanfare.emit('bench.broadcast', '{\"title\": \"News\"}')")
            events += event.rows.compactMap { $0.first.flatMap { $0 } }
        }
        for event in events { _ = try connection.query("SELECT fanfare.cancel($1::bigint)", event) }
        try daemon.waitUntilIdle(on: connection)
        return commits
    }

    private func emit(
        from first: Int,
        on connection: PostgresConnection,
        before prepare: () throws -> Void = {}
    ) throws -> Commits {
        var commits: Commits = [:]
        for sample in first..<first + samples {
            try prepare()
            Thread.sleep(forTimeInterval: .random(in: 0.02..<0.06))
            try connection.execute("BEGIN")
            try connection.run(SQL.emitSample("u\(1 + sample % database.devices)", Int64(sample)))
            commits[sample] = KernelClock.monotonic.microseconds
            try connection.execute("COMMIT")
        }
        return commits
    }
}

extension SQL {
    /// Emits an event that is identified at the provider.
    ///
    /// Binds: user, number.
    static let emitSample = Statement<Void, String, Int64>(
        "bench_emit_sample",
        "SELECT fanfare.emit('bench.sample', jsonb_build_object('user', $1::text, 'n', $2::bigint))"
    )
}
