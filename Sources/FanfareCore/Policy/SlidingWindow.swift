/// Counts that can be summed.
protocol WindowTally: Equatable, Sendable {
    /// Makes empty counts.
    init()
    /// Adds the counts of another.
    static func += (tally: inout Self, other: Self)
}

/// Sums over a sliding period, in buckets: older counts are dropped a bucket at a time.
struct SlidingWindow<Tally: WindowTally>: Equatable, Sendable {
    private let bucketWidth: Microseconds
    private var buckets: [Tally]
    /// The number of the newest bucket, counted from the clock's zero; nil before the first addition.
    private var newest: Int64?
    /// The sum of all buckets at the last change.
    private(set) var sum = Tally()

    init(width: Microseconds, buckets count: Int) {
        bucketWidth = max(width / Int64(max(count, 1)), 1)
        buckets = Array(repeating: Tally(), count: max(count, 1))
    }

    /// Adds to the bucket of `now`; a clock that goes back counts as stopped.
    mutating func add(_ tally: Tally, at now: Microseconds) {
        advance(to: now)
        buckets[index(newest ?? 0)] += tally
        sum += tally
    }

    /// Returns the sum over the period that ends at `now`.
    mutating func total(at now: Microseconds) -> Tally {
        advance(to: now)
        return sum
    }

    /// Returns the sum of the bucket of `now`.
    mutating func current(at now: Microseconds) -> Tally {
        advance(to: now)
        return buckets[index(newest ?? 0)]
    }

    private func bucketNumber(_ now: Microseconds) -> Int64 { max(now, 0) / bucketWidth }

    private func index(_ bucket: Int64) -> Int { Int(bucket % Int64(buckets.count)) }

    private mutating func advance(to now: Microseconds) {
        let bucket = bucketNumber(now)
        guard let last = newest else {
            newest = bucket
            return
        }
        guard bucket > last else { return }
        for passed in 0..<min(bucket - last, Int64(buckets.count)) {
            buckets[index(bucket - passed)] = Tally()
        }
        newest = bucket
        sum = buckets.reduce(into: Tally()) { $0 += $1 }
    }
}
