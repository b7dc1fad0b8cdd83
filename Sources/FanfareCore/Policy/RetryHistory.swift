/// The earlier attempts for one delivery.
///
/// The history is carried from one retry batch to the next, packed in ``encoded``, because some answers have another
/// meaning the second time: `BadDeviceToken` first causes an attempt in the other environment, and then is evidence.
public struct RetryHistory: Equatable, Hashable, Sendable {
    /// Actions that are taken at most once per delivery.
    public struct Marks: OptionSet, Hashable, Sendable {
        /// The bits; they are stored, so the meaning of a bit never changes.
        public let rawValue: UInt8

        /// Wraps stored bits.
        ///
        /// - Parameter rawValue: the bits; those unknown to this version are kept.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Resent at once after its answer was lost.
        public static let resent = Marks(rawValue: 1)
        // Bit 2 meant a push resent with a renewed credential.
        /// Resent on a connection of its own.
        public static let otherConnection = Marks(rawValue: 4)
        /// Sent, or being sent, to the APNs environment that is not the one stored with the device.
        public static let otherEnvironment = Marks(rawValue: 8)
        /// Retried because its registration is newer than the evidence, or than the attempt in its environment.
        public static let registeredLater = Marks(rawValue: 16)
        /// Held for quiet hours or a snooze, so its delay says nothing about the speed of sending.
        public static let held = Marks(rawValue: 32)
    }

    /// Attempts that count against `retry.attempts`, without the one in flight.
    public var attempts: UInt8
    /// Waits of the backoff used so far, at most 15.
    public var waits: UInt8
    /// Free repeats so far, after requests that the provider did not receive, at most 15.
    public var freeRepeats: UInt8
    /// The actions taken once.
    public var marks: Marks

    /// Makes a history; by default of no attempts.
    ///
    /// - Parameters:
    ///   - attempts: attempts that count.
    ///   - waits: waits used; numbers over 15 are stored as 15.
    ///   - freeRepeats: free repeats; numbers over 15 are stored as 15.
    ///   - marks: the actions taken once.
    public init(attempts: UInt8 = 0, waits: UInt8 = 0, freeRepeats: UInt8 = 0, marks: Marks = []) {
        self.attempts = attempts
        self.waits = min(waits, 15)
        self.freeRepeats = min(freeRepeats, 15)
        self.marks = marks
    }

    /// Whether the next attempt is the first one in the other environment, and nothing else.
    ///
    /// It goes to another service because the token belongs there, and so repeats no failure.
    public var isMove: Bool { marks.subtracting(.held) == .otherEnvironment && waits == 0 && freeRepeats == 0 }

    /// The history with the mark for deliveries that are held.
    public var held: RetryHistory {
        var history = self
        history.marks.insert(.held)
        return history
    }

    /// The history of a delivery without attempts: 0 when ``encoded``.
    public static let none = RetryHistory()

    /// Decodes a stored history; every value is valid.
    ///
    /// - Parameter encoded: a value of ``encoded``.
    public init(encoded: Int32) {
        let bits = UInt32(bitPattern: encoded)
        self.init(
            attempts: UInt8(bits & 0xff),
            waits: UInt8(bits >> 8 & 0xf),
            freeRepeats: UInt8(bits >> 12 & 0xf),
            marks: Marks(rawValue: UInt8(bits >> 16 & 0xff))
        )
    }

    /// The history in 24 bits, never negative, for PostgreSQL's `integer`.
    public var encoded: Int32 {
        Int32(attempts) | Int32(min(waits, 15)) << 8 | Int32(min(freeRepeats, 15)) << 12 | Int32(marks.rawValue) << 16
    }
}
