internal import FanfareCore

/// Absolute URLs that every browser can open.
///
/// Stricter than the URL standard, which repairs much: no spaces, no credentials, no IPv6.
enum WebAddress {
    /// Returns whether a text is an absolute URL with the scheme http or https and a host.
    ///
    /// - Parameter text: the text.
    /// - Returns: whether it is one.
    static func isAbsolute(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
        let scheme = ["https://", "http://"].first { text.lowercased().utf8.starts(with: $0.utf8) }
        guard let scheme else { return false }
        let rest = bytes.dropFirst(scheme.utf8.count)
        let authority = rest.prefix { !ends.contains($0) }
        let parts = authority.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count) else { return false }
        if parts.count == 2, !isPort(parts[1]) { return false }
        return isHost(parts[0])
    }

    private static let ends = Array("/?#".utf8)

    private static func isPort(_ digits: ArraySlice<UInt8>) -> Bool {
        guard (1...5).contains(digits.count), digits.allSatisfy(\.isDigit) else { return false }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 65_535
    }

    /// Returns whether a host is a name, also one with letters beyond ASCII, or four decimal numbers.
    private static func isHost(_ host: ArraySlice<UInt8>) -> Bool {
        let marks = Array("-_.".utf8)
        let isMadeOfNames = host.allSatisfy { byte in
            byte.isDigit || byte >= 0x80 || marks.contains(byte) || (97...122).contains(byte | 0x20)
        }
        var labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // A name may end with a dot.
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        guard isMadeOfNames, labels.allSatisfy({ !$0.isEmpty }), let last = labels.last else { return false }
        // Browsers read a host whose last label is a number as an IPv4 address.
        let isHexadecimal =
            last.count > 1 && last.first == UInt8(ascii: "0")
            && last.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
        guard last.allSatisfy(\.isDigit) || isHexadecimal else { return true }
        return labels.count == 4
            && labels.allSatisfy { label in
                let number = label.reduce(0) { min($0 * 10 + Int($1) - 48, 1000) }
                let isDecimal = label.allSatisfy(\.isDigit) && (label.count == 1 || label.first != UInt8(ascii: "0"))
                return isDecimal && number <= 255
            }
    }
}
