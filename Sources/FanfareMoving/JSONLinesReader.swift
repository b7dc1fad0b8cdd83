internal import FanfareTools

/// Reads JSON lines, one value per line; skips empty lines.
struct JSONLinesReader: RecordReader {
    private var window: ByteWindow

    /// Reads from a window's position.
    ///
    /// - Parameter window: a window at the start of a line.
    init(_ window: ByteWindow) {
        self.window = window
    }

    mutating func next() throws(ToolError) -> SourceRecord? {
        while let (text, all) = try window.lineLengths() {
            let line = window.line
            let bytes = Array(window.bytes[window.start..<window.start + text])
            window.advance(all, lines: 1)
            guard bytes.contains(where: { $0 > 0x20 }) else { continue }
            return SourceRecord(line: line, nextLine: window.line, nextPlace: window.place, bytes: bytes)
        }
        return nil
    }
}
