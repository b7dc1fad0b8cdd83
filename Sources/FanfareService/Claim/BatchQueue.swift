internal import FanfareStore

/// Claimed batches in the order in which they are prepared: the most urgent lane first.
struct BatchQueue {
    private var batches: [ClaimedBatch]

    init(_ batches: [ClaimedBatch]) {
        self.batches = batches.sorted { ($0.lane, $0.id) < ($1.lane, $1.id) }
    }

    /// The lane of the next batch; nil if there is none.
    var lane: Int16? { batches.first?.lane }

    /// Removes the next batches of one lane, together up to the size of one full batch.
    ///
    /// They are read together, since small batches would otherwise wait for the database one by one.
    ///
    /// - Parameter deliveries: the size of a full batch.
    /// - Returns: at least one batch; nil if none is left.
    mutating func next(deliveries: Int) -> [ClaimedBatch]? {
        guard let first = batches.first else { return nil }
        var total = 0
        let group = batches.prefix { batch in
            total += batch.deviceIDs.count
            return batch.lane == first.lane && total <= deliveries
        }
        // A batch may be larger than the configured size, if that was reduced.
        let count = max(group.count, 1)
        defer { batches.removeFirst(count) }
        return Array(batches.prefix(count))
    }
}
