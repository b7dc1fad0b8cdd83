import Foundation
import PostgresClient
import PrivateCluster
import Programs
import TestKit
import Testing

/// Tests of faults of PostgreSQL and of the connections to it.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 60))))
struct DatabaseFaultTests {
    private static let rounds = Soak.choose(1, soak: 10)
    /// The bound on the milliseconds from the database's return to the first push; higher in daily runs, because other
    /// suites use the machine too.
    private static let bound = Soak.choose(6000, soak: 2000)

    @Test(arguments: ["the planner", "all sessions"])
    func sessionsAreTerminated(which: String) async throws {
        let rig = try await ready()
        let those = which == "the planner" ? "= 'fanfare planner'" : "LIKE 'fanfare %'"
        let (audit, first) = try await rig.under("pg_terminate_backend of \(which)") { _ in
            var moment: UInt64 = 0
            for _ in 1...Self.rounds {
                moment = monotonicNanoseconds()
                try await rig.sql { connection in
                    try connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name \(those)"
                    )
                }
                try await rig.until(
                    "SELECT count(*) = 3 FROM pg_stat_activity WHERE application_name = 'fanfare planner'",
                    seconds: 30
                )
            }
            return moment
        }
        #expect(first.map { $0 <= Self.bound } == true)
        #expect(audit.acceptedTwice <= Self.rounds * 3 * Rig.unrecorded)
        if which == "the planner" { #expect(audit.duplicates == 0) }
    }

    @Test func theServerCrashesAndComesBack() async throws {
        let rig = try await ready()
        var firsts: [Int] = []
        for round in 1...Self.rounds {
            let (audit, first) = try await rig.under("PostgreSQL restart -m immediate \(round)") { _ in
                try await onThread { try rig.cluster.restart(.immediate) }
                return monotonicNanoseconds()
            }
            #expect(audit.duplicates <= 3 * Rig.unrecorded)
            if let first { firsts.append(first) }
        }
        #expect(firsts.count == Self.rounds)
        #expect(firsts.allSatisfy { $0 <= Self.bound })
    }

    @Test func theServerIsStoppedForAWhile() async throws {
        let rig = try await ready()
        let seconds = Soak.choose(4.0, soak: 60)
        let (audit, first) = try await rig.under("PostgreSQL stopped for \(Int(seconds)) s") { _ in
            try await onThread { rig.cluster.suspend(.fast) }
            try await rig.hold(seconds: seconds)
            try await onThread { try rig.cluster.resume() }
            return monotonicNanoseconds()
        }
        #expect(first.map { $0 <= Self.bound } == true)
        #expect(audit.duplicates <= 3 * Rig.unrecorded)
    }

    @Test func theServerFreezes() async throws {
        let rig = try await ready()
        // In the long run, longer than the leases.
        let seconds = Soak.choose(4.0, soak: 25)
        let (audit, first) = try await rig.under("PostgreSQL SIGSTOPped for \(Int(seconds)) s") { _ in
            let processes = try rig.cluster.processes()
            for process in processes { kill(process, SIGSTOP) }
            try await rig.hold(seconds: seconds)
            for process in processes.reversed() { kill(process, SIGCONT) }
            return monotonicNanoseconds()
        }
        #expect(first.map { $0 <= Self.bound } == true)
        #expect(audit.duplicates <= 3 * Rig.unrecorded)
    }

    @Test func anOldSnapshotStaysOpen() async throws {
        let rig = try await ready()
        let (audit, _) = try await rig.under("an old snapshot held open") { _ in
            let moment = monotonicNanoseconds()
            try await rig.sql { connection in
                try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                try connection.execute("SELECT count(*) FROM fanfare.event_log")
                try connection.execute("SELECT pg_sleep(\(Soak.choose(4, soak: 120)))")
                try connection.execute("COMMIT")
            }
            return moment
        }
        #expect(audit.duplicates == 0)
    }

    @Test(arguments: LinkFault.toDatabase)
    func theWayToItIsBad(link: LinkFault) async throws {
        let rig = try await ready()
        let (audit, _) = try await rig.under("database link of one daemon: \(link.name)") { _ in
            let moment = monotonicNanoseconds()
            try await link.harm(rig.daemons[rig.random(0...2)].database, rig)
            return moment
        }
        #expect(audit.duplicates <= Rig.unrecorded)
    }

    @Test func theWayToItIsHalfOpen() async throws {
        let rig = try await ready()
        var found: Int?
        var freed: UInt64 = 0
        let (audit, _) = try await rig.under(
            "database link of one daemon half-open (LISTEN and all others)",
            more: { "batches free after \(freed) ms, noticed by the daemon after \(found.map(String.init) ?? "-") ms" }
        ) { _ in
            let victim = try await rig.busyDaemon()
            let moment = monotonicNanoseconds()
            victim.database.behaviour = .blackHole
            // The daemon cannot reach the server, and its session there stays open: only the lease's end frees its
            // batches.
            try await rig.until(
                """
                SELECT NOT EXISTS (SELECT FROM fanfare.instances AS i JOIN fanfare.batches AS b ON b.owner = i.id
                    WHERE i.pid = \(victim.process.processID))
                """,
                seconds: 60
            )
            freed = (monotonicNanoseconds() - moment) / 1_000_000
            // Daily runs have no time for that.
            let patience = Soak.choose(0.1, soak: 60)
            found = try await onThread {
                victim.log.line(with: "the database is not reachable", after: moment, seconds: patience)
            }?.milliseconds
            let healed = monotonicNanoseconds()
            victim.database.behaviour = .pass
            // Bytes that the silent link held must not arrive later.
            victim.database.reset()
            return healed
        }
        #expect(freed <= 20_000)
        #expect(audit.duplicates <= Rig.unrecorded)
    }

    /// Slow requests, so that some are always in flight, and some responses are not yet recorded.
    private func ready() async throws -> Rig {
        let rig = try Rig.current
        try await rig.sandbox.setFaults(#"[{"do": "slow", "ms": 200}]"#)
        return rig
    }
}
