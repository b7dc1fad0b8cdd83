import Foundation
import PostgresClient
import PrivateCluster
import TestKit
import Testing
import Threading

/// Scheduled events while daemons are killed, PostgreSQL restarts, and one daemon's clock is an hour wrong; a fifth of the
/// events are replaced and a fifth cancelled meanwhile.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 30))))
struct ScheduledFaultTests {
    @Test func eachFiresOnceAndNoneEarlyOrAfterItsCancel() async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults("[]")
        let clock = try SettableClock(in: rig.sandbox.ready.directory)
        try clock.set(secondsAhead: 3600)
        await rig.end(rig.daemons[2], by: SIGKILL)
        try await rig.serve(3, options: .init(environment: clock.environment()))
        let run = ScheduledRun(
            audience: try await rig.audience("later", devices: 1),
            rig: rig,
            count: Soak.deliveries(everyDay: 500, soak: 10_000) / 10 * 10,
            seconds: Soak.choose(15, soak: 120)
        )
        let plan = try await run.schedule()
        async let faults: Int = run.playFaults()
        let cancelled = try await run.change(plan)
        let kills = try await faults
        try await rig.until(
            "SELECT NOT EXISTS (SELECT FROM fanfare.scheduled) AND NOT EXISTS (SELECT FROM fanfare.outbox)",
            seconds: 120
        )
        try await rig.untilIdle(seconds: 120)
        try await run.audit(plan, cancelled: cancelled, kills: kills)
    }
}

/// The events 1 to `count`: of ten, the first two are replaced and the next two cancelled.
private struct ScheduledRun {
    /// When an event is due, in nanoseconds of CLOCK_MONOTONIC.
    typealias Plan = [Int: UInt64]

    let audience: Audience
    let rig: Rig
    let count: Int
    /// The time within which all are due.
    let seconds: Int

    private func isReplaced(_ number: Int) -> Bool { number % 10 < 2 }
    private func isCancelled(_ number: Int) -> Bool { number % 10 == 2 || number % 10 == 3 }

    /// Schedules all events at random times, the replaced ones a minute after the last.
    func schedule() async throws -> Plan {
        let delays = (1...count).map { _ in rig.random(2000...(seconds * 1000)) }
        let audience = audience
        let last = seconds
        let start = try await rig.sql { connection in
            let now = monotonicNanoseconds()
            _ = try connection.query(
                """
                SELECT count(fanfare.emit_at('\(audience.name)', now() + CASE WHEN g.n % 10 < 2 THEN \(last + 60) * interval '1 s'
                    ELSE d.ms * interval '1 ms' END, jsonb_build_object('n', g.n::text), 'key-' || g.n))
                FROM generate_series(1, \(delays.count)) AS g (n)
                JOIN unnest($1::int[]) WITH ORDINALITY AS d (ms, n) USING (n)
                """,
                "{\(delays.map(String.init).joined(separator: ","))}"
            )
            return UInt64(now)
        }
        return Plan(
            uniqueKeysWithValues: delays.enumerated().map { ($0.offset + 1, start + UInt64($0.element) * 1_000_000) }
        )
    }

    /// Kills a daemon every three seconds, and restarts PostgreSQL twice; returns the number of kills.
    func playFaults() async throws -> Int {
        let rounds = seconds / 3
        for round in 1...rounds {
            try await rig.hold(seconds: 3)
            await rig.end(rig.daemons[rig.random(0...rig.daemons.count - 1)], by: SIGKILL)
            if round == rounds / 3 || round == rounds * 2 / 3 {
                try await onThread { try rig.cluster.restart(.immediate) }
            }
            try await rig.serve(3)
        }
        return rounds
    }

    /// Replaces events by ones at their planned times, and cancels others about when they are due.
    ///
    /// - Returns: when each cancellation was acknowledged that found its event, in nanoseconds of CLOCK_MONOTONIC.
    func change(_ plan: Plan) async throws -> [Int: UInt64] {
        // A replacement comes a second before it is due, most cancellations up to two seconds before, some after.
        var work: [(number: Int, due: UInt64, begin: UInt64)] = []
        for (number, due) in plan where isReplaced(number) || isCancelled(number) {
            let lead = isReplaced(number) ? 1000 : rig.random(0...2500) - 500
            work.append((number, due, UInt64(Int(due) - lead * 1_000_000)))
        }
        work.sort { $0.begin < $1.begin }
        let (url, type) = (rig.cluster.connectionURL(database: rig.databaseName), audience.name)
        return try await onThread("changes") { [work] in
            var session = PatientSession(url: url)
            var cancelled: [Int: UInt64] = [:]
            for (number, due, begin) in work {
                let wait = (Double(begin) - Double(monotonicNanoseconds())) / 1e9
                if wait > 0 { _ = try session.run { _ in "SELECT pg_catalog.pg_sleep(\(wait))" } }
                guard isCancelled(number) else {
                    _ = try session.run { now in
                        """
                        SELECT fanfare.emit_at('\(type)', now() + \(max(0, (Int(due) - Int(now)) / 1_000_000)) * interval '1 ms',
                            '{"n": "\(number)"}', 'key-\(number)', replace => true)
                        """
                    }
                    continue
                }
                if try session.run({ _ in "SELECT fanfare.cancel('\(type)', 'key-\(number)')" }) == "t" {
                    cancelled[number] = monotonicNanoseconds()
                }
            }
            return cancelled
        }
    }

    /// Compares what was scheduled with what was emitted and pushed.
    func audit(_ plan: Plan, cancelled: [Int: UInt64], kills: Int) async throws {
        let ledger = try await rig.ledger(of: audience)
        let pushed = Dictionary(grouping: ledger.filter { $0.fate == .accepted }, by: \.delivery.event)
        let emitted = try await rig.sql { connection in
            try connection.query(
                "SELECT payload ->> 'n' || ' ' || count(*) FROM fanfare.events WHERE type = 'later' GROUP BY payload ->> 'n' ORDER BY 1"
            ).rows.compactMap(\.[0])
        }
        let twice = emitted.filter { !$0.hasSuffix(" 1") }
        let known = Set(emitted.compactMap { $0.split(separator: " ").first.flatMap { Int($0) } })
        let early = pushed.filter { number, lines in lines.contains { $0.nanoseconds + 2_000_000 < plan[number] ?? 0 } }
        let late = cancelled.filter { number, at in
            (pushed[number] ?? []).contains { $0.nanoseconds > at + 1_000_000_000 }
        }
        let missing = plan.keys.filter { pushed[$0] == nil && !isCancelled($0) }
        let repeats = pushed.values.map { $0.count - 1 }.reduce(0, +)
        let ids = try await rig.sql { connection in
            try connection.query(
                """
                SELECT count(*) - count(DISTINCT event_id), count(*) - count(DISTINCT scheduled_id) FROM fanfare.scheduled_events
                """
            ).rows[0].map { $0 ?? "" }
        }
        report(
            "fault: \(count) scheduled events, \(kills) kills, 2 restarts, a clock an hour ahead: emitted \(known.count), "
                + "cancelled \(cancelled.count), pushed \(pushed.count), pushed again after a kill \(repeats), emitted twice "
                + "\(twice.count), early \(early.count), after a cancel \(late.count), missing \(missing.count)"
        )
        #expect(twice.isEmpty)
        #expect(early.isEmpty)
        #expect(late.isEmpty)
        #expect(missing.isEmpty)
        #expect(repeats <= kills * Rig.unrecorded)
        #expect(ids == ["0", "0"])
    }
}
