import Foundation
import PostgresClient
import PrivateCluster
import TestKit
import Testing

/// One fault after the other, at random, without a pause between them.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 120))))
struct RandomFaultTests {
    private enum Harm: String, CaseIterable {
        case kill = "kill -9"
        case restart = "immediate restart"
        case terminate = "sessions terminated"
        case databaseLink = "database link reset"
        case providerLink = "provider link reset"
        case goAway = "GOAWAY"
        case refuse = "REFUSED_STREAM"
        case stop = "SIGTERM"
    }

    /// What the promise allows to be repeated.
    private struct Toll {
        var counts: [Harm: Int] = [:]
        /// Answers that were lost with their connections are at most what a daemon has in flight.
        var allowed = 0
    }

    @Test func anyNumberOfFaultsInARow() async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults(slow)
        let fault = "random faults in a row"
        let audience = try await rig.audience("random", devices: 20)
        let traffic = rig.traffic(to: audience, perSecond: 20)
        try await rig.pushes(moreThan: 200)
        let before = try rig.resources()
        var toll = Toll()
        let end = ContinuousClock.now + .seconds(Soak.choose(15, soak: Soak.minutes * 60))
        while ContinuousClock.now < end {
            let harm = Harm.allCases[rig.random(0...Harm.allCases.count - 1)]
            toll.counts[harm, default: 0] += 1
            toll.allowed += try await play(harm, rig)
            try await rig.serve(3)
            try await rig.pushes(moreThan: rig.random(50...400))
        }
        try await rig.sandbox.setFaults("[]")
        let after = try rig.resources()
        let audit = try await rig.audit(audience, events: rig.settle(traffic, seconds: 120))
        let played = toll.counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) × \($0.key.rawValue)" }
        audit.report(
            fault,
            "\(played.joined(separator: ", ")), memory \(before.megabytes) to \(after.megabytes) MiB, descriptors \(before.descriptors) to \(after.descriptors)"
        )
        audit.expectNothingLost(fault)
        #expect(audit.duplicates <= toll.allowed)
        // Daemons come and go: what is compared is any of now with any of then.
        #expect(after.descriptors <= before.descriptors + 20)
        #expect(after.megabytes <= before.megabytes * 2)
    }

    private let slow = #"[{"do": "slow", "ms": 100}]"#

    /// Does one harm; returns how many repeats it may cause.
    private func play(_ harm: Harm, _ rig: Rig) async throws -> Int {
        let daemon = rig.daemons[rig.random(0...2)]
        switch harm {
        case .kill:
            await rig.end(daemon, by: SIGKILL)
            return Rig.unrecorded
        case .stop:
            #expect(await rig.end(daemon, by: SIGTERM) == 0)
            return 0
        case .restart:
            try await onThread { try rig.cluster.restart(.immediate) }
            return 3 * Rig.unrecorded
        case .terminate:
            try await rig.sql { connection in
                try connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'fanfare %'"
                )
            }
            return 3 * Rig.unrecorded
        case .databaseLink:
            daemon.database.reset()
            return Rig.unrecorded
        case .providerLink:
            daemon.provider.reset()
            return Rig.unrecorded
        case .goAway:
            try await rig.sandbox.setFaults(#"[{"do": "goaway", "total": 3}, {"do": "slow", "ms": 100}]"#)
            return 0
        case .refuse:
            try await rig.sandbox.setFaults(#"[{"do": "refuse", "total": 50}, {"do": "slow", "ms": 100}]"#)
            return 0
        }
    }
}

extension Soak {
    /// How long random faults go on in a long run: `FANFARE_FAULT_MINUTES`, or an hour.
    static var minutes: Int {
        ProcessInfo.processInfo.environment["FANFARE_FAULT_MINUTES"].flatMap { Int($0) } ?? 60
    }
}

extension Rig {
    /// The most memory and file descriptors that any daemon has now.
    func resources() throws -> (megabytes: Int, descriptors: Int) {
        var most = (megabytes: 0, descriptors: 0)
        for daemon in daemons {
            let folder = "/proc/\(daemon.process.processID)"
            let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
            let kilobytes = status.firstMatch(of: /VmRSS:\s+([0-9]+) kB/).flatMap { Int($0.1) } ?? 0
            most.megabytes = max(most.megabytes, kilobytes / 1024)
            most.descriptors = max(
                most.descriptors,
                try FileManager.default.contentsOfDirectory(atPath: folder + "/fd").count
            )
        }
        return most
    }
}
