import Foundation
import PostgresClient
import PrivateCluster
import TestKit
import Testing

/// The faults that are played on a working rig at random.
enum Harm: String, CaseIterable {
    case kill = "kill -9"
    case restart = "immediate restart"
    case terminate = "sessions terminated"
    case databaseLink = "database link reset"
    case providerLink = "provider link reset"
    case goAway = "GOAWAY"
    case refuse = "REFUSED_STREAM"
    case stop = "SIGTERM"

    /// A permanent delay of the provider, so that requests are in flight.
    static let slow = #"[{"do": "slow", "ms": 100}]"#

    /// Returns a random fault; kills are three times as frequent as any other.
    static func any(_ rig: Rig) -> Harm {
        let deck = allCases + [.kill, .kill]
        return deck[rig.random(0...deck.count - 1)]
    }
}

/// The faults played so far, and the repeats that they allow.
struct Toll {
    private(set) var counts: [Harm: Int] = [:]
    /// The number of allowed repeats: responses that were lost with their connections are at most what a daemon has in
    /// flight.
    private(set) var allowed = 0
    /// The times at which daemons were killed.
    private(set) var deaths: [UInt16: UInt64] = [:]

    /// The faults played so far, as text.
    var description: String {
        counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) × \($0.key.rawValue)" }
            .joined(separator: ", ")
    }

    /// Plays a fault.
    ///
    /// The first daemon is neither killed nor stopped, so that the effect of an hour of faults on one process is
    /// measured.
    mutating func play(_ harm: Harm, on rig: Rig) async throws {
        counts[harm, default: 0] += 1
        switch harm {
        case .kill, .stop:
            let mortal = rig.daemons.filter { $0.index > 0 }
            try await end(mortal[rig.random(0...mortal.count - 1)], of: rig, by: harm)
        case .restart:
            try await onThread { try rig.cluster.restart(.immediate) }
            allowed += 3 * Rig.unrecorded
        case .terminate:
            try await rig.sql { connection in
                try connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'fanfare %'"
                )
            }
            allowed += 3 * Rig.unrecorded
        case .databaseLink:
            rig.daemons[rig.random(0...2)].database.reset()
            allowed += Rig.unrecorded
        case .providerLink:
            rig.daemons[rig.random(0...2)].provider.reset()
            allowed += Rig.unrecorded
        case .goAway:
            try await rig.sandbox.setFaults(#"[{"do": "goaway", "total": 3}, {"do": "slow", "ms": 100}]"#)
        case .refuse:
            try await rig.sandbox.setFaults(#"[{"do": "refuse", "total": 50}, {"do": "slow", "ms": 100}]"#)
        }
    }

    private mutating func end(_ daemon: RigDaemon, of rig: Rig, by harm: Harm) async throws {
        guard harm == .kill else {
            #expect(await rig.end(daemon, by: SIGTERM) == 0)
            return
        }
        deaths[daemon.number] = monotonicNanoseconds()
        await rig.end(daemon, by: SIGKILL)
        allowed += Rig.unrecorded
    }

    /// Returns, for each killed daemon, the number of its requests that another daemon repeated after its death.
    func repeatsByKill(in repeats: some Sequence<Repeat>) -> [Int] {
        var counts = deaths.mapValues { _ in 0 }
        for one in repeats where one.daemon != one.previous {
            guard let death = deaths[one.previous], death < one.nanoseconds else { continue }
            counts[one.previous, default: 0] += 1
        }
        return Array(counts.values)
    }
}
