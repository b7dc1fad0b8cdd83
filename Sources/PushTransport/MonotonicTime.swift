/// A time of CLOCK_MONOTONIC in nanoseconds; a plain integer, since it is compared for every request.
public typealias MonotonicTime = Int64

extension Duration {
    /// Whole nanoseconds, limited so that a sum with a ``MonotonicTime`` cannot overflow; 0 for a negative duration.
    public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let bounded = min(max(seconds, 0), 1_000_000_000)
        return bounded * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }
}
