/// The id of an event: its UTC day and a sequence number in one 64-bit integer.
public struct EventID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number of days in the ring of log partitions.
    public static let ringDays = 32
    /// 2020-01-01T00:00:00Z, in seconds since 1970.
    static let epoch: Int64 = 1_577_836_800
    private static let secondsPerDay: Int64 = 86_400

    /// `days since 2020 << 32 | sequence`, the value in the database.
    public let rawValue: Int64

    /// Wraps an id from the database.
    ///
    /// - Parameter rawValue: the id.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Assembles an id.
    ///
    /// - Parameters:
    ///   - day: days since 2020-01-01, 0 or more.
    ///   - sequence: the sequence number.
    public init(day: Int32, sequence: UInt32) { rawValue = Int64(day) << 32 | Int64(sequence) }

    /// Days since 2020-01-01, UTC.
    public var day: Int32 { Int32(truncatingIfNeeded: rawValue >> 32) }

    /// The sequence number.
    public var sequence: UInt32 { UInt32(truncatingIfNeeded: rawValue) }

    /// The partition of the ring that holds the event's log row, 0 to 31; equals `fanfare.ring_day(id)`.
    public var ringDay: Int { Int(day) % Self.ringDays }

    /// Returns the day of a time.
    ///
    /// - Parameter unixSeconds: seconds since 1970.
    /// - Returns: days since 2020-01-01, UTC; negative before that.
    public static func day(unixSeconds: Int64) -> Int32 {
        let seconds = unixSeconds - epoch
        let days = seconds / secondsPerDay - (seconds % secondsPerDay < 0 ? 1 : 0)
        return Int32(clamping: days)
    }

    /// Compares the event's number with another number of the same sequence.
    ///
    /// Clocks are not used. Equals `fanfare.is_emitted_after(id, number)`. The sequence restarts after 4,294,967,295,
    /// so the result is correct only for numbers less than 2,147,483,648 apart.
    ///
    /// - Parameter number: 0 to 4,294,967,295.
    /// - Returns: whether the event has this number or a later one.
    public func isEmitted(after number: Int64) -> Bool {
        sequence &- UInt32(truncatingIfNeeded: number) < 1 << 31
    }

    /// Orders by day, then by number.
    ///
    /// - Parameters:
    ///   - left: an id.
    ///   - right: another.
    /// - Returns: whether the first is the smaller.
    public static func < (left: EventID, right: EventID) -> Bool { left.rawValue < right.rawValue }
}
