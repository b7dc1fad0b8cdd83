internal import FanfareCore
internal import FanfareStages
internal import FanfareStore

/// Prepared batches of rules that promise at most once, until W has room for all their deliveries.
///
/// Such a batch is marked as attempted as a whole before its first request, and after a crash all that is marked is
/// unknown, sent or not. So what is marked is bounded by W as what is in flight is; what waits here is not marked, and a
/// crash costs it nothing.
struct HeldBatches {
    /// A batch that waits, and the pools it was rendered for.
    struct Held {
        let prepared: BatchPreparer.Prepared
        let roster: SenderRoster

        fileprivate var batch: PreparedBatch { prepared.batch }
    }

    /// The most urgent first, of a lane in order of arrival.
    private(set) var all: [Held] = []

    var isEmpty: Bool { all.isEmpty }

    /// Whether any of a queue waits: then no more of it is claimed.
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

    /// The next batch that finds room in W, and the slots it took; nil if all that wait have to wait on.
    ///
    /// What waits before another of its provider goes first, however much room that one needs.
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
