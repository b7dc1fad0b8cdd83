internal import FanfareCore
internal import FanfareSending
internal import FanfareStages
internal import FanfareStore

/// Prepared batches of at-most-once rules that wait until the in-flight budget has room for all their deliveries.
///
/// Such a batch is marked as attempted as a whole before its first request, and after a crash all marked deliveries are
/// unknown, sent or not. The number of marked deliveries is therefore bounded by the same limit as those in flight.
/// Batches that wait here are not marked, so a crash does not affect them.
struct HeldBatches {
    /// A waiting batch, and the pools for which it was rendered.
    struct Held {
        let prepared: BatchPreparer.Prepared
        let roster: SenderRoster

        fileprivate var batch: PreparedBatch { prepared.batch }
    }

    /// The waiting batches, the most urgent lane first, in order of arrival within a lane.
    private(set) var all: [Held] = []

    var isEmpty: Bool { all.isEmpty }

    /// Returns whether a batch of a queue waits; no more of that queue is claimed then.
    func contains(_ target: Int16, _ queue: SendQueue) -> Bool {
        all.contains { $0.batch.target.id == target && $0.batch.claimed.queue == queue }
    }

    mutating func append(_ held: Held) {
        let place = all.firstIndex { $0.batch.lane.rawValue > held.batch.lane.rawValue } ?? all.endIndex
        all.insert(held, at: place)
    }

    mutating func remove(_ held: Held) {
        all.removeAll { $0.batch === held.batch }
    }

    /// Returns the next batch that fits into the budget, with the number of slots taken; nil if all have to wait.
    ///
    /// Batches of one provider go in order, however many slots the first one needs.
    func next(in windows: InFlightBudget) -> (held: Held, window: Int)? {
        var full: Set<ProviderKey> = []
        for held in all where !full.contains(held.batch.share.key) {
            let share = held.batch.share
            if let window = windows.acquireWhole(held.batch.deliveries.count, for: share) { return (held, window) }
            full.insert(share.key)
        }
        return nil
    }
}
