/// The identity of one delivery, derived from event, rule and device: 128 bits, equal on every retry and in every
/// daemon.
///
/// It becomes `apns-id` and the ids in logs. Ids differ for different deliveries as random ones would; they are not
/// secret.
public struct DeliveryID: Hashable, Sendable {
    /// How many bytes the text of a UUID has.
    public static let textLength = 36

    /// The first 64 bits.
    public let high: UInt64
    /// The last 64 bits.
    public let low: UInt64

    /// Derives the identity.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - ruleID: the rule's id, not its version's: an edit between two attempts changes nothing.
    ///   - deviceID: the device's id.
    public init(event: EventID, ruleID: Int64, deviceID: Int64) {
        let (first, second) = Murmur3.hash(
            UInt64(bitPattern: event.rawValue),
            UInt64(bitPattern: ruleID),
            UInt64(bitPattern: deviceID)
        )
        // RFC 9562 section 5.8: version 8, variant 10.
        high = first & 0xFFFF_FFFF_FFFF_0FFF | 0x8000
        low = second & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    /// Appends the id as a UUID (RFC 9562, version 8): 36 bytes, lower case.
    ///
    /// - Parameter output: takes the text.
    public func appendText(to output: inout [UInt8]) {
        for index in 0..<Self.textLength { output.append(character(at: index)) }
    }

    /// Writes the id as a UUID (RFC 9562, version 8) into 36 bytes of the caller's.
    ///
    /// - Parameters:
    ///   - output: takes the text; traps if it has fewer than 36 bytes after `offset`.
    ///   - offset: where the text begins.
    public func writeText(into output: inout MutableSpan<UInt8>, at offset: Int = 0) {
        for index in 0..<Self.textLength { output[offset + index] = character(at: index) }
    }

    /// The id as a UUID, in lower case.
    public var text: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.textLength)
        appendText(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    private func character(at index: Int) -> UInt8 {
        let digit: Int
        switch index {
        case 8, 13, 18, 23: return UInt8(ascii: "-")
        case ..<8: digit = index
        case ..<13: digit = index - 1
        case ..<18: digit = index - 2
        case ..<23: digit = index - 3
        default: digit = index - 4
        }
        let word = digit < 16 ? high : low
        let nibble = UInt8(word >> UInt64(60 - (digit & 15) * 4) & 0xF)
        return nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
    }
}

extension DeliveryID: CustomStringConvertible {
    /// The id as a UUID, in lower case.
    public var description: String { text }
}
