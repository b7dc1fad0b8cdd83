internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// Below which `not_before` nothing is left to claim, by gate, target and queue: dead rows under an old snapshot lie there.
struct ClaimFloors {
    private struct Place: Hashable {
        let gate: Int32
        let target: Int16
        let queue: SendQueue
    }

    private static let margin = 5 * Micros.second

    private var largest: [Place: Timestamp] = [:]
    private var sweptAt: Microseconds?

    /// Whether it is time to look from the beginning again.
    func isSweepDue(at now: Microseconds, every interval: Microseconds) -> Bool {
        sweptAt.map { now - $0 >= interval } ?? true
    }

    /// Looks from the beginning next time.
    mutating func sweep(at now: Microseconds) {
        sweptAt = now
        largest = [:]
    }

    /// Looks from the beginning next time, but for that sweeps when it would have: what was not claimed in its turn lies anywhere.
    mutating func forget() {
        largest = [:]
    }

    /// Notes a claimed batch.
    mutating func saw(_ batch: ClaimedBatch) {
        let place = Place(gate: batch.gate, target: batch.target, queue: batch.queue)
        largest[place] = max(largest[place] ?? batch.notBefore, batch.notBefore)
    }

    /// Where to look from: a little before the last that was seen, since transactions commit out of order.
    func floor(gate: Int32 = 0, target: Int16, _ queue: SendQueue, now: Microseconds) -> Timestamp {
        guard let seen = largest[Place(gate: gate, target: target, queue: queue)] else { return .minusInfinity }
        return Timestamp(microseconds: min(seen.microseconds, now - Self.margin) - Self.margin)
    }
}
