/// An IPv4 or IPv6 address.
///
/// Stored as IPv6, with IPv4 as `::ffff:a.b.c.d` (RFC 4291 section 2.5.5.2), so that both notations of an address are
/// equal.
public struct IPAddress: Hashable, Sendable {
    /// All 128 bits.
    let bits: UInt128

    private static let mapped: UInt128 = 0xFFFF << 32

    /// Creates an IPv4 address.
    ///
    /// - Parameter v4: its 32 bits, the first byte in the highest.
    public init(v4: UInt32) { bits = Self.mapped | UInt128(v4) }

    /// Creates an IPv6 address; an IPv4-mapped address equals the IPv4 address.
    ///
    /// - Parameter v6: its 128 bits, the first byte in the highest.
    public init(v6: UInt128) { bits = v6 }

    /// Parses an address; nil if the text is malformed.
    ///
    /// - Parameter text: four decimal numbers without leading zeroes, which some parsers read as octal; or IPv6 as in
    ///   RFC 4291 section 2.2, without brackets and zone.
    public init?(_ text: String) {
        let bits = text.contains(":") ? Self.parseV6(text[...]) : Self.parseV4(text[...]).map { Self.mapped | $0 }
        guard let bits else { return nil }
        self.bits = bits
    }

    /// The IPv4 address; nil for IPv6.
    public var v4: UInt32? { bits >> 32 == Self.mapped >> 32 ? UInt32(truncatingIfNeeded: bits) : nil }

    private static func parseV4(_ text: Substring) -> UInt128? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bits: UInt128 = 0
        for part in parts {
            guard part.isDigits, let number = UInt8(part) else { return nil }
            guard part.count == String(number).count else { return nil }
            bits = bits << 8 | UInt128(number)
        }
        return bits
    }

    private static func parseV6(_ text: Substring) -> UInt128? {
        guard let gap = text.firstRange(of: "::") else {
            guard let groups = groups(text, mayEndInV4: true), groups.count == 8 else { return nil }
            return join(groups)
        }
        let (head, tail) = (text[..<gap.lowerBound], text[gap.upperBound...])
        guard let first = head.isEmpty ? [] : groups(head, mayEndInV4: false) else { return nil }
        guard let last = tail.isEmpty ? [] : groups(tail, mayEndInV4: true) else { return nil }
        let zeroes = 8 - first.count - last.count
        return zeroes > 0 ? join(first + Array(repeating: 0, count: zeroes) + last) : nil
    }

    private static func groups(_ text: Substring, mayEndInV4: Bool) -> [UInt16]? {
        var parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var ending: [UInt16] = []
        if mayEndInV4, let last = parts.last, last.contains(".") {
            guard let v4 = parseV4(last) else { return nil }
            ending = [UInt16(truncatingIfNeeded: v4 >> 16), UInt16(truncatingIfNeeded: v4)]
            parts.removeLast()
        }
        let groups = parts.compactMap { part in
            (1...4).contains(part.count) && part.allSatisfy(\.isHexDigit) ? UInt16(part, radix: 16) : nil
        }
        return groups.count == parts.count ? groups + ending : nil
    }

    private static func join(_ groups: [UInt16]) -> UInt128 {
        groups.reduce(0) { $0 << 16 | UInt128($1) }
    }
}

extension IPAddress: CustomStringConvertible {
    /// The address in the notation of RFC 5952.
    public var description: String {
        if let v4 {
            return [24, 16, 8, 0].map { String(v4 >> UInt32($0) & 0xFF) }.joined(separator: ".")
        }
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: bits >> UInt128((7 - $0) * 16)) }
        var gap = 0..<0
        var start = 0
        while start < 8 {
            let end = groups[start...].firstIndex { $0 != 0 } ?? 8
            if end - start > max(gap.count, 1) { gap = start..<end }
            start = max(end, start + 1)
        }
        let text = { (part: ArraySlice<UInt16>) in part.map { String($0, radix: 16) }.joined(separator: ":") }
        return gap.isEmpty
            ? text(groups[...]) : text(groups[..<gap.lowerBound]) + "::" + text(groups[gap.upperBound...])
    }
}
