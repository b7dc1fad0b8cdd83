/// A time or a span of time in microseconds.
///
/// A time counts from the Unix epoch (wall clock, like PostgreSQL's timestamps) or from boot (CLOCK_BOOTTIME); each
/// parameter names its clock, or allows any monotonic one. Nothing in this module reads a clock.
public typealias Microseconds = Int64

/// Common spans in ``Microseconds``.
public enum Micros {
    /// 1 ms.
    public static let millisecond: Microseconds = 1000
    /// 1 s.
    public static let second: Microseconds = 1_000_000
    /// 60 s.
    public static let minute: Microseconds = 60 * second
    /// 60 min.
    public static let hour: Microseconds = 60 * minute
}
