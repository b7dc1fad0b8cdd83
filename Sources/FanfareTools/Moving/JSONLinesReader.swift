/// Reads JSON lines, a value a line; empty lines are none.
struct JSONLinesReader: RecordReader {
    private var window: ByteWindow

    /// Reads from where a window is.
    ///
    /// - Parameter window: at the beginning of a line.
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
