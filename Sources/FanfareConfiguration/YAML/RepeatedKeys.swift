/// A YAML text in which repeated keys are renamed, so that the parser accepts it.
///
/// Yams gives up at the first mapping with a repeated key and knows only where its first one stands. Renaming that one
/// and parsing again finds every repetition, with both places, beside all other problems of the file.
struct RepeatedKeys {
    /// Bounds the number of times that a text is parsed.
    static let limit = 64

    private var lines: [[Unicode.Scalar]]
    private var hidden: [SourcePosition: String] = [:]

    init(in text: String) {
        lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
    }

    /// The text as it now is.
    var text: String {
        var view = String.UnicodeScalarView()
        for (index, line) in lines.enumerated() {
            if index > 0 { view.append("\n") }
            view.append(contentsOf: line)
        }
        return String(view)
    }

    /// The name that a key had before it was renamed.
    ///
    /// - Parameter position: where the key stands.
    /// - Returns: its name; nil if it was not renamed.
    func name(at position: SourcePosition) -> String? { hidden[position] }

    /// Renames one key, to private use characters, keeping its length so that all positions stay true.
    ///
    /// - Parameters:
    ///   - key: its name.
    ///   - position: where the parser saw it.
    /// - Returns: false if the key is not written there as it is named (an escape, an anchor), or there are too many.
    mutating func hide(_ key: String, at position: SourcePosition) -> Bool {
        guard hidden.count < Self.limit, lines.indices.contains(position.line - 1), !key.isEmpty,
            let stand = Unicode.Scalar(0xE000 + UInt32(hidden.count))
        else { return false }
        let line = lines[position.line - 1]
        var start = position.column - 1
        guard line.indices.contains(start) else { return false }
        if line[start] == "\"" || line[start] == "'" { start += 1 }
        let end = start + key.unicodeScalars.count
        guard end <= line.count, line[start..<end].elementsEqual(key.unicodeScalars) else { return false }
        lines[position.line - 1].replaceSubrange(start..<end, with: repeatElement(stand, count: end - start))
        hidden[position] = key
        return true
    }
}
