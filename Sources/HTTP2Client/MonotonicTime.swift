import Glibc

/// A moment on CLOCK_MONOTONIC in nanoseconds: plain integers, since it is compared for every request.
typealias MonotonicTime = Int64

/// Now, on CLOCK_MONOTONIC.
func monotonicNow() -> MonotonicTime {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension Duration {
    /// Whole nanoseconds, bounded to what a sum with a ``MonotonicTime`` can hold.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let bounded = min(max(seconds, 0), 1_000_000_000)
        return bounded * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }
}
