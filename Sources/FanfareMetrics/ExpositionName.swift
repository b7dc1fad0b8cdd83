/// What metrics and labels are called outside: Prometheus takes letters, digits and underscores, and a name tells kind and unit.
enum ExpositionName {
    /// What a counter is called.
    static func counter(_ label: String) -> String { of(label, suffix: "_total") }

    /// What a metric is called.
    ///
    /// - Parameters:
    ///   - label: as swift-metrics was given it, as `fanfare.batches.closed`.
    ///   - suffix: what its name ends with, as `_total`; not written twice.
    /// - Returns: as `fanfare_batches_closed_total`.
    static func of(_ label: String, suffix: String = "") -> String {
        let name = sanitized(label)
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// Makes dots and whatever else may not stand in a name underscores.
    ///
    /// - Parameter text: any text.
    /// - Returns: not empty, and not beginning with a digit.
    static func sanitized(_ text: String) -> String {
        var name = text.utf8.prefix(1).contains(where: isDigit) || text.isEmpty ? "_" : ""
        name += String(text.map { $0.utf8.allSatisfy(isWord) ? $0 : "_" })
        return name
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || byte == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}
