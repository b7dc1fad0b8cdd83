/// A point in time, as in PostgreSQL's `timestamptz`: microseconds, no zone.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01 00:00 UTC.
    public var microseconds: Int64

    /// Creates a timestamp.
    ///
    /// - Parameter microseconds: since 1970-01-01 00:00 UTC.
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// The timestamp later than all others, `infinity` in SQL.
    public static let infinity = Timestamp(microseconds: .max)
    /// The timestamp earlier than all others, `-infinity` in SQL.
    public static let minusInfinity = Timestamp(microseconds: .min)

    /// Whether the left point comes before the right one.
    ///
    /// - Parameters:
    ///   - left: a point in time.
    ///   - right: another.
    /// - Returns: true if `left` is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }
}

extension Timestamp {
    /// PostgreSQL's epoch, 2000-01-01 00:00 UTC, in microseconds since 1970.
    private static let serverEpoch: Int64 = 946_684_800_000_000

    /// Microseconds since 2000, the binary form; the infinities are the extremes in both, and other values saturate.
    var serverMicroseconds: Int64 {
        guard self != .infinity && self != .minusInfinity else { return microseconds }
        let (shifted, overflow) = microseconds.subtractingReportingOverflow(Self.serverEpoch)
        return overflow ? .min : shifted
    }

    init(serverMicroseconds: Int64) {
        let (shifted, overflow) = serverMicroseconds.addingReportingOverflow(Self.serverEpoch)
        self.init(microseconds: overflow ? .max : serverMicroseconds == .min ? .min : shifted)
    }
}
