extension String {
    /// Returns the text in a form that can be logged: truncated, and without control and format characters.
    ///
    /// - Parameter length: the maximum length in Unicode scalars.
    /// - Returns: nil if no characters remain.
    package func loggable(upTo length: Int) -> String? {
        // The fast path for plain words.
        if utf8.count <= length && utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return isEmpty ? nil : self }
        let kept = unicodeScalars.prefix(length)
            .filter { $0.properties.generalCategory != .control && $0.properties.generalCategory != .format }
        return kept.isEmpty ? nil : String(String.UnicodeScalarView(kept))
    }

    /// Returns whether a phrase occurs in the text, ignoring the case of ASCII letters.
    ///
    /// - Parameter phrase: ASCII without capitals.
    /// - Returns: whether it occurs.
    package func mentions(_ phrase: String) -> Bool {
        let text = utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let phrase = Array(phrase.utf8)
        guard let first = phrase.first, text.count >= phrase.count else { return phrase.isEmpty }
        return (0...text.count - phrase.count).contains { start in
            text[start] == first && text[start...].starts(with: phrase)
        }
    }
}
