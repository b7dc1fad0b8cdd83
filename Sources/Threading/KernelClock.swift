import Glibc

/// The kernel's clocks.
public enum KernelClock: Sendable {
    /// Time since boot including suspension, the clock of leases (CLOCK_BOOTTIME).
    case bootTime
    /// Time since boot without suspension, the clock of systemd and of timeouts (CLOCK_MONOTONIC).
    case monotonic
    /// Time since 1970, which an administrator or NTP may set (CLOCK_REALTIME).
    case realTime
    /// CPU time of the calling thread (CLOCK_THREAD_CPUTIME_ID).
    case threadCPU
    /// CPU time of all threads of the process (CLOCK_PROCESS_CPUTIME_ID).
    case processCPU

    /// The clock's time in microseconds, rounded down; comparable with times of the same clock only.
    public var microseconds: Int64 { nanoseconds / 1000 }

    /// The clock's time in nanoseconds; comparable with times of the same clock only.
    public var nanoseconds: Int64 {
        var time = timespec()
        let status = unsafe clock_gettime(id, &time)
        precondition(status == 0, "clock_gettime failed: \(errno)")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private var id: clockid_t {
        switch self {
        case .bootTime: CLOCK_BOOTTIME
        case .monotonic: CLOCK_MONOTONIC
        case .realTime: CLOCK_REALTIME
        case .threadCPU: CLOCK_THREAD_CPUTIME_ID
        case .processCPU: CLOCK_PROCESS_CPUTIME_ID
        }
    }
}
