internal import FanfareTools

/// Reads comma-separated values (RFC 4180): quoted fields may hold separators, line breaks and doubled quotes.
///
/// It also accepts lines that end with LF alone, other separators, and quotes inside unquoted fields, and skips empty
/// lines. A malformed row is returned with its problem, and reading goes on after it; if a quote is never closed, after
/// the row's first line.
struct CSVReader: RecordReader {
    private enum State {
        case atStart, plain, quoted, afterQuote
    }

    private static let quote = UInt8(ascii: "\"")
    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private var window: ByteWindow
    private let separator: UInt8

    /// Reads from a window's position.
    ///
    /// - Parameters:
    ///   - window: a window at the start of a row.
    ///   - separator: the byte between fields.
    init(_ window: ByteWindow, separator: UInt8 = UInt8(ascii: ",")) {
        self.window = window
        self.separator = separator
    }

    mutating func next() throws(ToolError) -> SourceRecord? {
        while true {
            var scan = Scan()
            guard try run(&scan) else { return nil }
            if scan.isUnclosed || scan.length > ByteWindow.longestRecord { return try brokenLine() }
            if scan.length == 0 {
                window.advance(scan.total, lines: scan.lines)
                continue
            }
            let line = window.line
            let bytes = Array(window.bytes[window.start..<window.start + scan.length])
            window.advance(scan.total, lines: scan.lines)
            return SourceRecord(
                line: line,
                nextLine: window.line,
                nextPlace: window.place,
                bytes: bytes,
                fields: scan.fields,
                problem: scan.problem
            )
        }
    }

    /// The result of scanning one row; offsets count from its first byte.
    private struct Scan {
        var fields: [SourceRecord.Field] = []
        /// The row's length in bytes, without and with its line end.
        var length = 0
        var total = 0
        var lines: Int64 = 0
        var isUnclosed = false
        var problem: String?
    }

    /// Scans to the end of a row.
    ///
    /// - Returns: whether there was a row.
    private mutating func run(_ scan: inout Scan) throws(ToolError) -> Bool {
        var state = State.atStart
        var field = SourceRecord.Field(start: 0, end: 0)
        var index = 0
        while true {
            guard index < window.count else {
                if index <= ByteWindow.longestRecord, try window.fill() { continue }
                guard index > 0 else { return false }
                scan.isUnclosed = state == .quoted
                end(&scan, &field, state, at: index, total: index)
                return true
            }
            let byte = window.bytes[window.start + index]
            switch (state, byte) {
            case (.atStart, Self.quote):
                state = .quoted
                field.start = index + 1
            case (.quoted, Self.quote):
                state = .afterQuote
                field.end = index
            case (.quoted, _):
                if byte == Self.newline { scan.lines += 1 }
            case (.afterQuote, Self.quote):
                state = .quoted
                field.hasDoubledQuotes = true
            case (_, separator):
                if state != .afterQuote { field.end = index }
                scan.fields.append(field)
                field = SourceRecord.Field(start: index + 1, end: index + 1)
                state = .atStart
            case (_, Self.newline):
                let hasReturn = index > 0 && window.bytes[window.start + index - 1] == Self.carriageReturn
                end(&scan, &field, state, at: hasReturn ? index - 1 : index, total: index + 1)
                return true
            case (.afterQuote, Self.carriageReturn):
                break
            case (.afterQuote, _):
                scan.problem = "has a text after the quote that closes field \(scan.fields.count + 1)"
                state = .plain
            default:
                state = .plain
            }
            index += 1
        }
    }

    private func end(
        _ scan: inout Scan,
        _ field: inout SourceRecord.Field,
        _ state: State,
        at index: Int,
        total: Int
    ) {
        if state != .afterQuote { field.end = max(index, field.start) }
        scan.fields.append(field)
        scan.length = index
        scan.total = total
        scan.lines += 1
    }

    /// Returns the current line as malformed, and moves to the next one.
    private mutating func brokenLine() throws(ToolError) -> SourceRecord? {
        guard let (text, all) = try window.lineLengths() else { return nil }
        let line = window.line
        let bytes = Array(window.bytes[window.start..<window.start + text])
        window.advance(all, lines: 1)
        return SourceRecord(
            line: line,
            nextLine: window.line,
            nextPlace: window.place,
            bytes: bytes,
            problem: "has a quote that is not closed within \(ByteWindow.longestRecord >> 20) MiB"
        )
    }
}
