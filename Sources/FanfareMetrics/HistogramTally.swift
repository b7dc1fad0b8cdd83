/// Values that are counted apart, on one thread, until a histogram takes all of them at once.
///
/// Where a lock for each value would cost more than counting it.
public struct HistogramTally: Sendable {
    /// Upper bounds of all buckets but the last one.
    let bounds: [Double]
    /// Of each bucket alone; the last one has no bound.
    private(set) var counts: [Int64]
    private(set) var sum = 0.0
    /// The last of each bucket.
    private(set) var exemplars: [Exemplar?]

    /// Counts nothing yet.
    init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
        exemplars = Array(repeating: nil, count: bounds.count + 1)
    }

    /// Takes over what was counted elsewhere.
    ///
    /// - Parameters:
    ///   - bounds: upper bounds of all buckets but the last one.
    ///   - counts: of each bucket alone.
    ///   - sum: of all values.
    ///   - exemplars: the last of each bucket.
    public init(bounds: [Double], counts: [Int64], sum: Double, exemplars: [Exemplar?]) {
        precondition(counts.count == bounds.count + 1 && exemplars.count == counts.count, "a bucket without a count")
        (self.bounds, self.counts, self.sum, self.exemplars) = (bounds, counts, sum, exemplars)
    }

    /// Counts a value; what is no finite number is ignored.
    ///
    /// - Parameters:
    ///   - value: the value.
    ///   - exemplar: what led to it; nil keeps the bucket's last one.
    mutating func observe(_ value: Double, exemplar: Exemplar? = nil) {
        guard value.isFinite else { return }
        // The loop is several times faster than a closure for each bound.
        var place = 0
        while place < bounds.count, bounds[place] < value { place += 1 }
        counts[place] = counts[place].addingCapped(1)
        sum = sum.addingCapped(value)
        if let exemplar { exemplars[place] = exemplar }
    }

    /// Adds what another one of the same bounds counted; its exemplars are the newer ones.
    mutating func add(_ other: HistogramTally) {
        guard other.bounds == bounds else { return }
        for place in counts.indices {
            counts[place] = counts[place].addingCapped(other.counts[place])
            exemplars[place] = other.exemplars[place] ?? exemplars[place]
        }
        sum = sum.addingCapped(other.sum)
    }

    /// All of it, as it is told.
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
