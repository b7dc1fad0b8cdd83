/// Values tallied on one thread, to be added to a histogram at once.
///
/// For values so frequent that a lock for each would cost more than counting it.
public struct HistogramTally: Sendable {
    /// The upper bounds of all buckets except the last one.
    let bounds: [Double]
    /// The count of each bucket alone; the last one has no bound.
    private(set) var counts: [Int64]
    private(set) var sum = 0.0
    /// The latest exemplar of each bucket.
    private(set) var exemplars: [Exemplar?]

    /// Makes an empty tally.
    init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
        exemplars = Array(repeating: nil, count: bounds.count + 1)
    }

    /// Makes a tally of values that were counted elsewhere.
    ///
    /// - Parameters:
    ///   - bounds: upper bounds of all buckets except the last one.
    ///   - counts: the count of each bucket alone.
    ///   - sum: the sum of all values.
    ///   - exemplars: the latest exemplar of each bucket.
    public init(bounds: [Double], counts: [Int64], sum: Double, exemplars: [Exemplar?]) {
        precondition(counts.count == bounds.count + 1 && exemplars.count == counts.count, "a bucket without a count")
        (self.bounds, self.counts, self.sum, self.exemplars) = (bounds, counts, sum, exemplars)
    }

    /// Counts a value; a value that is not finite is ignored.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - exemplar: the value's cause; nil keeps the bucket's last exemplar.
    mutating func observe(_ value: Double, exemplar: Exemplar? = nil) {
        guard value.isFinite else { return }
        // This loop is several times faster than a closure call per bound.
        var place = 0
        while place < bounds.count, bounds[place] < value { place += 1 }
        counts[place] = counts[place].addingCapped(1)
        sum = sum.addingCapped(value)
        if let exemplar { exemplars[place] = exemplar }
    }

    /// Adds another tally with the same bounds; its exemplars replace the older ones.
    mutating func add(_ other: HistogramTally) {
        guard other.bounds == bounds else { return }
        for place in counts.indices {
            counts[place] = counts[place].addingCapped(other.counts[place])
            exemplars[place] = other.exemplars[place] ?? exemplars[place]
        }
        sum = sum.addingCapped(other.sum)
    }

    /// The tally as a value of a snapshot.
    var value: HistogramValue {
        var count: Int64 = 0
        var buckets: [HistogramValue.Bucket] = []
        for (place, bound) in (bounds + [.infinity]).enumerated() {
            count = count.addingCapped(counts[place])
            buckets.append(HistogramValue.Bucket(upperBound: bound, count: count, exemplar: exemplars[place]))
        }
        return HistogramValue(buckets: buckets, sum: sum, count: count)
    }
}
