internal import FanfareStore

/// Claimed batches in the order in which they are prepared: the most urgent first.
struct BatchQueue {
    private var batches: [ClaimedBatch]

    init(_ batches: [ClaimedBatch]) {
        self.batches = batches.sorted { ($0.lane, $0.id) < ($1.lane, $1.id) }
    }

    /// The lane of what comes next; nil if nothing does.
    var lane: Int16? { batches.first?.lane }

    /// Takes the next batches of one lane, together of one full batch's size: they are read together, since small ones
    /// would otherwise wait for the database one by one.
    ///
    /// - Parameter deliveries: the size of a full batch.
    /// - Returns: at least one; nil if none is left.
    mutating func next(deliveries: Int) -> [ClaimedBatch]? {
        guard let first = batches.first else { return nil }
        var total = 0
        let group = batches.prefix { batch in
            total += batch.deviceIDs.count
            return batch.lane == first.lane && total <= deliveries
        }
        // A batch may be larger than is configured now.
        let count = max(group.count, 1)
        defer { batches.removeFirst(count) }
        return Array(batches.prefix(count))
    }
}
