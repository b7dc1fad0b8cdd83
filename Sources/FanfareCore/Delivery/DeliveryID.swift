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

    /// Appends the id as a UUID (RFC 9562, version 8): 36 bytes, lower case.
    ///
    /// - Parameter output: the buffer to append to.
    public func appendText(to output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: repeatElement(UInt8(ascii: "-"), count: Self.textLength))
        var span = output.mutableSpan
        writeText(into: &span, at: start)
    }

    /// Writes the id as a UUID (RFC 9562, version 8) into 36 bytes of the caller's buffer.
    ///
    /// - Parameters:
    ///   - output: the buffer; traps if it has fewer than 36 bytes after `offset`.
    ///   - offset: where the text starts.
    public func writeText(into output: inout MutableSpan<UInt8>, at offset: Int = 0) {
        let words: [4 of UInt64] = [
            Self.hexadecimal(UInt32(truncatingIfNeeded: high >> 32)),
            Self.hexadecimal(UInt32(truncatingIfNeeded: high)),
            Self.hexadecimal(UInt32(truncatingIfNeeded: low >> 32)), Self.hexadecimal(UInt32(truncatingIfNeeded: low)),
        ]
        // The form is 8-4-4-4-12: dashes are in the middle of the second and third word, and around each.
        for index in 0..<8 {
            let shift = UInt64(56 - 8 * index)
            let late = index < 4 ? 0 : 1
            output[offset + index] = UInt8(truncatingIfNeeded: words[0] >> shift)
            output[offset + 9 + index + late] = UInt8(truncatingIfNeeded: words[1] >> shift)
            output[offset + 19 + index + late] = UInt8(truncatingIfNeeded: words[2] >> shift)
            output[offset + 28 + index] = UInt8(truncatingIfNeeded: words[3] >> shift)
        }
        output[offset + 8] = UInt8(ascii: "-")
        output[offset + 13] = UInt8(ascii: "-")
        output[offset + 18] = UInt8(ascii: "-")
        output[offset + 23] = UInt8(ascii: "-")
    }

    /// The id as a UUID, in lower case.
    public var text: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.textLength)
        appendText(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

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
