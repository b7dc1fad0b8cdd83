import Glibc
internal import PushTransport

/// Returns the current time of CLOCK_MONOTONIC.
func monotonicNow() -> MonotonicTime {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
