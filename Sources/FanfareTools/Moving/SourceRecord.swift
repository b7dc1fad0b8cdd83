/// One row of a file as it stands there.
struct SourceRecord: Sendable {
    /// Where a field lies in ``SourceRecord/bytes``.
    struct Field: Sendable {
        var start: Int
        var end: Int
        /// Whether quotes in it are doubled.
        var hasDoubledQuotes = false
    }

    /// Its first line, from 1.
    let line: Int64
    /// The line after it.
    let nextLine: Int64
    /// The byte after it.
    let nextPlace: Int64
    /// Its bytes, without what ends its line.
    let bytes: [UInt8]
    /// Of a CSV file, its fields.
    var fields: [Field] = []
    /// Why it is no row at all; nil if it is one.
    var problem: String?

    /// A field's text.
    ///
    /// - Parameter field: which.
    /// - Returns: the text without quotes; nil if it is no UTF-8.
    func text(of field: Field) -> String? {
        let raw = bytes[field.start..<field.end]
        guard field.hasDoubledQuotes else { return String(validating: raw, as: UTF8.self) }
        var plain: [UInt8] = []
        plain.reserveCapacity(raw.count)
        var isSecond = false
        for byte in raw {
            isSecond = byte == UInt8(ascii: "\"") && !isSecond
            if !isSecond { plain.append(byte) }
        }
        return String(validating: plain, as: UTF8.self)
    }
}

/// Reads a file row by row.
protocol RecordReader {
    /// The next row.
    ///
    /// - Returns: the row; nil at the end.
    /// - Throws: ``ToolError`` if the file cannot be read.
    mutating func next() throws(ToolError) -> SourceRecord?
}
