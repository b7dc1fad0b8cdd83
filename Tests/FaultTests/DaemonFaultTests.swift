import Foundation
import Programs
import TestKit
import Testing

/// Tests of daemons that are killed, frozen or stopped.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct DaemonFaultTests {
    /// Slow requests keep batches in flight.
    private static let slow = #"[{"do": "slow", "ms": 300}]"#
    private static let kills = Soak.choose(1, soak: 20)

    @Test(arguments: ["at_least_once", "at_most_once"])
    func whatAKilledDaemonHadIsSentByAnother(delivery: String) async throws {
        let rig = try await ready()
        try await rig.sandbox.setFaults(Self.slow)
        let fault = "kill -9 of one daemon, \(delivery)"
        let audience = try await rig.audience("kill-\(delivery)", devices: 60, #""delivery": "\#(delivery)""#)
        let traffic = rig.traffic(to: audience, perSecond: 8)
        var rescues: [Int] = []
        for kill in 1...Self.kills {
            try await rig.pushes(moreThan: rig.random(100...600))
            let victim = try await rig.busyDaemon()
            let (died, owned) = try await killed(victim, of: rig)
            try await rig.serve(3)
            // With `at_most_once`, none of these deliveries may be sent again: there is no push to wait for.
            if delivery == "at_least_once",
                let first = try await rescue(rig, audience, owned, after: died, notBy: victim)
            {
                rescues.append(first)
            }
            if Soak.isOn, kill % 5 == 0 { report("fault: \(fault): \(kill) kills") }
        }
        let audit = try await rig.audit(audience, events: rig.settle(traffic, seconds: 120))
        audit.report(
            fault,
            "\(Self.kills) kills, unknown \(audit.count("unknown")), next push after \(rescues.sorted()) ms"
        )
        audit.expectNothingLost(fault)
        if delivery == "at_most_once" {
            #expect(audit.duplicates == 0)
            #expect(audit.count("unknown") <= Self.kills * Rig.unrecorded)
        } else {
            #expect(audit.duplicates <= Self.kills * Rig.unrecorded)
            #expect(audit.count("accepted") == audit.expected)
            let bound = Soak.choose(10_000, soak: 5000)
            #expect(rescues.allSatisfy { $0 <= bound })
        }
    }

    @Test func ofABacklogAKillMakesNoMoreThanWUnknown() async throws {
        let rig = try await ready()
        try await rig.sandbox.setFaults(#"[{"do": "slow", "ms": 1500}]"#)
        let audience = try await rig.audience("kill-backlog", devices: 60, #""delivery": "at_most_once""#)
        let events = 30
        try await rig.emit(events, to: audience)
        try await rig.pushes(moreThan: 300)
        _ = try await killed(try await rig.busyDaemon(), of: rig)
        try await rig.serve(3)
        try await rig.untilIdle(seconds: 120)
        let audit = try await rig.audit(audience, events: events)
        audit.report("kill -9 in a backlog, at_most_once", "unknown \(audit.count("unknown"))")
        audit.expectNothingLost("kill -9 in a backlog, at_most_once")
        #expect(audit.duplicates == 0 && audit.count("unknown") <= Rig.unrecorded)
        #expect(audit.count("accepted") + audit.count("unknown") == audit.expected)
    }

    @Test func allDaemonsAreKilledAtOnce() async throws {
        let rig = try await ready()
        try await rig.sandbox.setFaults(Self.slow)
        let fault = "kill -9 of all daemons at once"
        let audience = try await rig.audience("kill-all", devices: 60)
        let traffic = rig.traffic(to: audience, perSecond: 8)
        let rounds = Soak.choose(1, soak: 10)
        var firsts: [Int] = []
        for _ in 1...rounds {
            try await rig.pushes(moreThan: rig.random(100...600))
            for daemon in rig.daemons { daemon.process.signal(SIGKILL) }
            for daemon in rig.daemons { #expect(await rig.end(daemon, by: SIGKILL) == 137) }
            let started = monotonicNanoseconds()
            try await rig.serve(3)
            try await rig.pushes(moreThan: 1)
            if let first = try await rig.millisecondsToFirstPush(after: started, of: audience) { firsts.append(first) }
        }
        let audit = try await rig.audit(audience, events: rig.settle(traffic, seconds: 120))
        audit.report(fault, "\(rounds) times, first push \(firsts) ms after the first new one was started")
        audit.expectNothingLost(fault)
        #expect(audit.duplicates <= rounds * 3 * Rig.unrecorded)
    }

    @Test func plannersAreKilled() async throws {
        let rig = try await ready()
        try await rig.sandbox.setFaults("[]")
        let fault = "kill -9 while planning"
        let audience = try await rig.audience("kill-planning", devices: Soak.choose(6000, soak: 50_000))
        let kills = Soak.choose(2, soak: 10)
        try await rig.emit(1, to: audience)
        for kill in 1...kills {
            let share = audience.devices * kill / (kills + 2)
            // Kills any daemon, because the test does not know which one plans.
            try await rig.until(
                """
                SELECT NOT EXISTS (SELECT FROM fanfare.plans) AND NOT EXISTS (SELECT FROM fanfare.outbox)
                    OR (SELECT coalesce(sum(cardinality(device_ids)), 0) FROM fanfare.batches WHERE attempt = 1)
                        + (SELECT coalesce(sum(cardinality(device_ids)), 0) FROM fanfare.batch_log WHERE attempt = 1
                            AND rule_version IN (SELECT v.id FROM fanfare.rule_versions AS v
                                JOIN fanfare.rules AS r ON r.id = v.rule_id WHERE r.name = '\(audience.name)')) >= \(share)
                """,
                seconds: 60
            )
            #expect(await rig.end(rig.daemons[rig.random(0...2)], by: SIGKILL) == 137)
            try await rig.serve(3)
        }
        try await rig.untilIdle(seconds: 240)
        let audit = try await rig.audit(audience, events: 1)
        audit.report(fault, "\(kills) kills")
        audit.expectNothingLost(fault)
        #expect(audit.duplicates <= kills * Rig.unrecorded)
    }

    @Test func aDaemonThatSleptThroughItsLeaseSendsNothingOfIt() async throws {
        let rig = try await ready()
        try await rig.sandbox.setFaults(Self.slow)
        let fault = "SIGSTOP beyond the lease, then SIGCONT"
        let audience = try await rig.audience("freeze", devices: 60)
        let traffic = rig.traffic(to: audience, perSecond: 8)
        try await rig.pushes(moreThan: 300)
        let (victim, owned) = try await stopAtWork(rig)
        let stopped = monotonicNanoseconds()
        // Waits for the lease's end, because a stopped process keeps its session and its lock. A batch that no other
        // daemon had claimed could be claimed by the stopped one again.
        let numbers = Set(owned.map { "'\($0.event)'" }).joined(separator: ", ")
        try await rig.until(
            """
            SELECT NOT EXISTS (
                SELECT FROM fanfare.batches AS b
                JOIN fanfare.events AS e ON e.id = ANY (coalesce(b.event_ids, ARRAY[b.event_id]))
                LEFT JOIN fanfare.instances AS i ON i.id = b.owner
                WHERE e.payload->>'n' IN (\(numbers)) AND (b.owner IS NULL OR i.pid = \(victim.process.processID)))
            """,
            seconds: 60
        )
        let rescued = (monotonicNanoseconds() - stopped) / 1_000_000
        try await rig.pushes(moreThan: 500)
        let woken = monotonicNanoseconds()
        victim.process.signal(SIGCONT)
        try await rig.pushes(moreThan: 500)
        let audit = try await rig.audit(audience, events: rig.settle(traffic))
        let stale = try await rig.ledger(of: audience).filter {
            $0.daemon == victim.number && $0.nanoseconds > woken && owned.contains($0.delivery)
        }
        audit.report(
            fault,
            "batches free after \(rescued) ms, sent by the woken daemon of its old \(owned.count) deliveries: \(stale.count)"
        )
        audit.expectNothingLost(fault)
        #expect(stale.isEmpty, "a woken daemon starts no request")
        #expect(audit.duplicates <= Rig.unrecorded)
    }

    @Test func stoppedDaemonsDrain() async throws {
        let rig = try await ready()
        try await rig.sandbox.setFaults(Self.slow)
        let fault = "SIGTERM under load"
        let audience = try await rig.audience("term", devices: 60)
        let traffic = rig.traffic(to: audience, perSecond: 8)
        var statuses: [Int32] = []
        for _ in 1...Soak.choose(2, soak: 20) {
            try await rig.pushes(moreThan: rig.random(100...400))
            statuses.append(await rig.end(rig.daemons[rig.random(0...2)], by: SIGTERM))
            try await rig.serve(3)
        }
        let audit = try await rig.audit(audience, events: rig.settle(traffic))
        audit.report(fault, "\(statuses.count) times")
        audit.expectNothingLost(fault)
        #expect(statuses.allSatisfy { $0 == 0 })
        #expect(audit.duplicates == 0, "a rolling restart repeats nothing")
    }

    @Test func withoutFaultsThereIsOneRequestEach() async throws {
        let rig = try await ready()
        try await rig.sandbox.setFaults("[]")
        let audience = try await rig.audience("calm", devices: 500)
        try await rig.emit(4, to: audience)
        try await rig.untilIdle()
        let audit = try await rig.audit(audience, events: 4)
        audit.report("none")
        audit.expectNothingLost("none")
        #expect(audit.duplicates == 0)
    }

    private func ready() async throws -> Rig {
        let rig = try Rig.current
        try await rig.serve(3)
        return rig
    }

    /// Stops a daemon that has deliveries in flight.
    private func stopAtWork(_ rig: Rig) async throws -> (RigDaemon, Set<Delivery>) {
        while true {
            let victim = try await rig.busyDaemon()
            victim.process.signal(SIGSTOP)
            let owned = try await rig.owned(by: victim)
            if !owned.isEmpty { return (victim, owned) }
            // The daemon finished them before the signal.
            victim.process.signal(SIGCONT)
        }
    }

    /// Kills a daemon; returns the time of its end, and the deliveries that it had in flight.
    private func killed(_ victim: RigDaemon, of rig: Rig) async throws -> (UInt64, Set<Delivery>) {
        victim.process.signal(SIGKILL)
        let died = monotonicNanoseconds()
        let owned = try await rig.owned(by: victim)
        #expect(await rig.end(victim, by: SIGKILL) == 137)
        return (died, owned)
    }

    /// Returns the milliseconds until another daemon sends one of a dead daemon's deliveries; nil if it had none left.
    private func rescue(
        _ rig: Rig,
        _ audience: Audience,
        _ owned: Set<Delivery>,
        after died: UInt64,
        notBy victim: RigDaemon
    ) async throws -> Int? {
        guard !owned.isEmpty else { return nil }
        let patience = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < patience {
            let first = try await rig.millisecondsToFirstPush(after: died, of: audience) {
                owned.contains($0.delivery) && $0.daemon != victim.number
            }
            if let first { return first }
            try await rig.pushes(moreThan: 20)
        }
        return nil
    }
}
