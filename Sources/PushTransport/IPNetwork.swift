/// A block of addresses (CIDR, RFC 4632): `10.0.0.0/8`, `fc00::/7`, or a single address.
public struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    private let base: IPAddress
    /// Leading bits that count, of the 128.
    private let prefix: Int

    /// Parses a block; nil if it is none, or if bits are set that do not count.
    ///
    /// - Parameter text: an address, with or without `/` and the number of bits that count.
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

    /// Whether an address lies in it; one of IPv4 only lies in a block of IPv4.
    ///
    /// - Parameter address: any address.
    /// - Returns: whether it does.
    public func contains(_ address: IPAddress) -> Bool {
        guard (address.v4 == nil) == (base.v4 == nil) else { return false }
        return prefix == 0 || (address.bits ^ base.bits) >> UInt128(128 - prefix) == 0
    }

    /// The block in the usual form.
    public var description: String {
        "\(base)/\(base.v4 == nil ? prefix : prefix - 96)"
    }
}
