internal import FanfareTools

/// One row of a file, as text.
struct SourceRecord: Sendable {
    /// The range of a field in ``SourceRecord/bytes``.
    struct Field: Sendable {
        var start: Int
        var end: Int
        /// Whether the field has doubled quotes.
        var hasDoubledQuotes = false
    }

    /// The number of its first line, from 1.
    let line: Int64
    /// The number of the line after it.
    let nextLine: Int64
    /// The offset of the byte after it.
    let nextPlace: Int64
    /// Its bytes, without the line end.
    let bytes: [UInt8]
    /// Its fields, for a CSV file.
    var fields: [Field] = []
    /// Why the row is malformed; nil if it is well-formed.
    var problem: String?

    /// Returns a field's text.
    ///
    /// - Parameter field: the field.
    /// - Returns: the text without quotes; nil if it is not UTF-8.
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
    /// Reads the next row.
    ///
    /// - Returns: the row; nil at the end.
    /// - Throws: ``ToolError`` if the file cannot be read.
    mutating func next() throws(ToolError) -> SourceRecord?
}
