/// The words that programs write for a missing value; the same as `fanfare.is_nothing` in SQL.
package enum NothingText {
    private static let words: Set<String> = [
        "", "null", "NULL", "Null", "(null)", "(NULL)", "<null>", "None", "undefined", "nil", "<nil>", "NaN", "\\N",
        "[object Object]",
    ]

    /// Returns whether a text is blank, or a word for a missing value.
    package static func matches(_ text: String) -> Bool {
        let bytes = text.utf8.drop { blanks.contains($0) }
        guard bytes.count <= 64 else { return false }
        var word = Array(bytes)
        while let last = word.last, blanks.contains(last) { word.removeLast() }
        return words.contains(String(decoding: word, as: UTF8.self))
    }

    private static let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
}
