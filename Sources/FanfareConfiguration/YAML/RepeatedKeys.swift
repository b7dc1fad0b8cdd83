/// A YAML text in which repeated keys are renamed, so that the parser accepts it.
///
/// Yams stops at the first mapping with a repeated key and reports only the position of the key's first occurrence.
/// Renaming that occurrence and parsing again finds every repetition, with both positions, and all other problems of
/// the file.
struct RepeatedKeys {
    /// The limit of parser runs for one text.
    static let limit = 64

    private var lines: [[Unicode.Scalar]]
    private var hidden: [SourcePosition: String] = [:]

    init(in text: String) {
        lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
    }

    /// The text with the renamed keys.
    var text: String {
        var view = String.UnicodeScalarView()
        for (index, line) in lines.enumerated() {
            if index > 0 { view.append("\n") }
            view.append(contentsOf: line)
        }
        return String(view)
    }

    /// Returns the name that a key had before it was renamed.
    ///
    /// - Parameter position: the key's position.
    /// - Returns: its name; nil if it was not renamed.
    func name(at position: SourcePosition) -> String? { hidden[position] }

    /// Renames one key to private use characters of the same length, so that all positions stay valid.
    ///
    /// - Parameters:
    ///   - key: the key's name.
    ///   - position: the position that the parser reported.
    /// - Returns: false if the key is written differently there (an escape, an anchor), or the limit is reached.
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
