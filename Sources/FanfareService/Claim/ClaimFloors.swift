internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// The `not_before` below which no batch is left to claim, by gate, target and queue.
///
/// Scans start there, because below it lie the dead rows that an old snapshot keeps.
struct ClaimFloors {
    private struct Place: Hashable {
        let gate: Int32
        let target: Int16
        let queue: SendQueue
    }

    private static let margin = 5 * Micros.second

    private var largest: [Place: Timestamp] = [:]
    private var sweptAt: Microseconds?

    /// Returns whether a scan from the beginning is due.
    func isSweepDue(at now: Microseconds, every interval: Microseconds) -> Bool {
        sweptAt.map { now - $0 >= interval } ?? true
    }

    /// Makes the next scan start from the beginning, and records its time.
    mutating func sweep(at now: Microseconds) {
        sweptAt = now
        largest = [:]
    }

    /// Makes the next scan start from the beginning without postponing the next sweep: batches that had to wait for a
    /// gate or rate may lie anywhere.
    mutating func forget() {
        largest = [:]
    }

    /// Records a claimed batch.
    mutating func saw(_ batch: ClaimedBatch) {
        let place = Place(gate: batch.gate, target: batch.target, queue: batch.queue)
        largest[place] = max(largest[place] ?? batch.notBefore, batch.notBefore)
    }

    /// Returns where a scan starts: 5 s before the last batch seen, and at least 10 s ago, since transactions commit
    /// out of order.
    func floor(gate: Int32 = 0, target: Int16, _ queue: SendQueue, now: Microseconds) -> Timestamp {
        guard let seen = largest[Place(gate: gate, target: target, queue: queue)] else { return .minusInfinity }
        return Timestamp(microseconds: min(seen.microseconds, now - Self.margin) - Self.margin)
    }
}
