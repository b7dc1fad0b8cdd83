/// A block of addresses (CIDR, RFC 4632): `10.0.0.0/8`, `fc00::/7`, or a single address.
public struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    private let base: IPAddress
    /// The prefix length, out of 128 bits.
    private let prefix: Int

    /// Parses a block; nil if the text is malformed or bits after the prefix are set.
    ///
    /// - Parameter text: an address, optionally followed by `/` and the prefix length.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let base = IPAddress(String(first)) else { return nil }
        var prefix = 128
        if parts.count == 2 {
            let isV4 = !first.contains(":")
            guard parts[1].isDigits, let length = Int(parts[1]) else {
                return nil
            }
            guard length <= (isV4 ? 32 : 128) else { return nil }
            prefix = isV4 ? length + 96 : length
        }
        guard prefix == 128 || base.bits << UInt128(prefix) == 0 else { return nil }
        self.base = base
        self.prefix = prefix
    }

    /// Returns whether the block contains an address; an IPv4 address is only contained in IPv4 blocks.
    ///
    /// - Parameter address: any address.
    /// - Returns: whether the block contains it.
    public func contains(_ address: IPAddress) -> Bool {
        guard (address.v4 == nil) == (base.v4 == nil) else { return false }
        return prefix == 0 || (address.bits ^ base.bits) >> UInt128(128 - prefix) == 0
    }

    /// The block in CIDR notation.
    public var description: String {
        "\(base)/\(base.v4 == nil ? prefix : prefix - 96)"
    }
}
