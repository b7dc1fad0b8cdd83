/// What was already tried for one delivery.
///
/// Travels with the delivery from one retry batch to the next, packed in ``encoded``, because some answers mean something
/// else the second time: `BadDeviceToken` first asks for the other environment and then is evidence.
public struct RetryHistory: Equatable, Hashable, Sendable {
    /// What is tried at most once per delivery.
    public struct Marks: OptionSet, Hashable, Sendable {
        /// The bits; they are stored, so a bit keeps its meaning.
        public let rawValue: UInt8

        /// Wraps stored bits.
        ///
        /// - Parameter rawValue: bits that are not known to this version are kept.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Sent again at once after its answer was lost.
        public static let resent = Marks(rawValue: 1)
        // 2 stood for a push that was sent again with a renewed credential.
        /// Sent again on a connection of its own.
        public static let otherConnection = Marks(rawValue: 4)
        /// Sent, or being sent, to the other APNs environment than the one stored with the device.
        public static let otherEnvironment = Marks(rawValue: 8)
        /// Tried again because its registration is newer than what called it gone, or than the attempt in its environment.
        public static let registeredLater = Marks(rawValue: 16)
        /// Held for a night or a snooze: how long it took says nothing of how fast pushes go.
        public static let held = Marks(rawValue: 32)
    }

    /// Attempts that count against `retry.attempts`, without the one in flight.
    public var attempts: UInt8
    /// Waits of the back-off used up so far, at most 15.
    public var waits: UInt8
    /// Repeats that were free because the provider never had the request, at most 15.
    public var freeRepeats: UInt8
    /// What was tried once.
    public var marks: Marks

    /// A history; nothing tried unless said otherwise.
    ///
    /// - Parameters:
    ///   - attempts: attempts that counted.
    ///   - waits: waits used up; over 15 is kept as 15.
    ///   - freeRepeats: free repeats; over 15 is kept as 15.
    ///   - marks: what was tried once.
    public init(attempts: UInt8 = 0, waits: UInt8 = 0, freeRepeats: UInt8 = 0, marks: Marks = []) {
        self.attempts = attempts
        self.waits = min(waits, 15)
        self.freeRepeats = min(freeRepeats, 15)
        self.marks = marks
    }

    /// Whether the attempt to come is the first in the other environment, and nothing but that.
    ///
    /// It goes to another service because the token is that one's: it repeats nothing that failed.
    public var isMove: Bool { marks.subtracting(.held) == .otherEnvironment && waits == 0 && freeRepeats == 0 }

    /// The same, for deliveries that are held on purpose.
    public var held: RetryHistory {
        var history = self
        history.marks.insert(.held)
        return history
    }

    /// The history of a delivery that was never sent: 0 when ``encoded``.
    public static let none = RetryHistory()

    /// Reads a stored history; every value is one.
    ///
    /// - Parameter encoded: as ``encoded`` gave it.
    public init(encoded: Int32) {
        let bits = UInt32(bitPattern: encoded)
        self.init(
            attempts: UInt8(bits & 0xff),
            waits: UInt8(bits >> 8 & 0xf),
            freeRepeats: UInt8(bits >> 12 & 0xf),
            marks: Marks(rawValue: UInt8(bits >> 16 & 0xff))
        )
    }

    /// The history in 24 bits, never negative: fits PostgreSQL's `integer`.
    public var encoded: Int32 {
        Int32(attempts) | Int32(min(waits, 15)) << 8 | Int32(min(freeRepeats, 15)) << 12 | Int32(marks.rawValue) << 16
    }
}
