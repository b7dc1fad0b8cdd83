/// The identity of one delivery, derived from event, rule and device: 128 bits, the same for every retry and in every
/// daemon.
///
/// It becomes `apns-id`, Web Push's `Topic` and `webhook-id`. Ids of different deliveries differ like random ones; they
/// are not secret. The event's id alone would not suffice: after a failover to a standby that lacks the last
/// transactions, the sequence repeats ids that events of the old primary had. The events' creation times still differ.
public struct DeliveryID: Hashable, Sendable {
    /// The length of a UUID's text in bytes.
    public static let textLength = 36

    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// Derives the identity.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - createdAt: when it was emitted, as stored with it; microseconds since 1970.
    ///   - ruleID: the rule's id, not its version's: an edit between two attempts changes nothing.
    ///   - deviceID: the device's id.
    public init(event: EventID, createdAt: Microseconds = 0, ruleID: Int64, deviceID: Int64) {
        let (first, second) = Murmur3.hash(
            UInt64(bitPattern: event.rawValue),
            UInt64(bitPattern: ruleID),
            UInt64(bitPattern: deviceID),
            seed: UInt64(bitPattern: createdAt)
        )
        // RFC 9562 section 5.8: version 8, variant 10.
        high = first & 0xFFFF_FFFF_FFFF_0FFF | 0x8000
        low = second & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    /// The id as a UUID (RFC 9562, version 8): 36 bytes, lower case.
    public var textBytes: [UInt8] {
        let a = Self.hexadecimal(UInt32(truncatingIfNeeded: high >> 32))
        let b = Self.hexadecimal(UInt32(truncatingIfNeeded: high))
        let c = Self.hexadecimal(UInt32(truncatingIfNeeded: low >> 32))
        let d = Self.hexadecimal(UInt32(truncatingIfNeeded: low))
        func digit(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (56 - 8 * index)) }
        let hyphen = UInt8(ascii: "-")
        // The form is 8-4-4-4-12. Written as one literal, the compiler stores several bytes at once.
        return [
            digit(a, 0), digit(a, 1), digit(a, 2), digit(a, 3), digit(a, 4), digit(a, 5), digit(a, 6), digit(a, 7),
            hyphen, digit(b, 0), digit(b, 1), digit(b, 2), digit(b, 3),
            hyphen, digit(b, 4), digit(b, 5), digit(b, 6), digit(b, 7),
            hyphen, digit(c, 0), digit(c, 1), digit(c, 2), digit(c, 3),
            hyphen, digit(c, 4), digit(c, 5), digit(c, 6), digit(c, 7),
            digit(d, 0), digit(d, 1), digit(d, 2), digit(d, 3), digit(d, 4), digit(d, 5), digit(d, 6), digit(d, 7),
        ]
    }

    /// The id as a UUID, in lower case.
    public var text: String { String(decoding: textBytes, as: UTF8.self) }

    /// The eight hexadecimal digits of a word, first digit in the highest byte.
    private static func hexadecimal(_ word: UInt32) -> UInt64 {
        var digits = UInt64(word)
        digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
        digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
        digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // Adding 6 carries into the upper half of a byte for values from 10; letters are 0x27 above the place of ten.
        let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits + 0x3030_3030_3030_3030 + letters * 0x27
    }
}

extension DeliveryID: CustomStringConvertible {
    /// The id as a UUID, in lower case.
    public var description: String { text }
}
