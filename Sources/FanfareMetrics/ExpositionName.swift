/// The exposed names of metrics and labels: Prometheus allows letters, digits and underscores, and a suffix tells kind
/// and unit.
enum ExpositionName {
    /// Returns the exposed name of a counter.
    static func counter(_ label: String) -> String { of(label, suffix: "_total") }

    /// Returns the exposed name of a metric.
    ///
    /// - Parameters:
    ///   - label: the name given to swift-metrics, such as `fanfare.batches.closed`.
    ///   - suffix: the suffix, such as `_total`; not added twice.
    /// - Returns: the exposed name, such as `fanfare_batches_closed_total`.
    static func of(_ label: String, suffix: String = "") -> String {
        let name = sanitized(label)
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// Replaces dots and other characters that a name must not contain by underscores.
    ///
    /// - Parameter text: any text.
    /// - Returns: a text that is not empty and does not begin with a digit.
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
