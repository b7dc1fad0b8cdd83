/// Undoes what spreadsheets do to a cell.
enum ImportCell {
    /// Returns a cell's text without surrounding blanks and without the marks that keep Excel from reading it as a
    /// number: `="…"` and `'…`.
    static func text(_ cell: String) -> String {
        var text = trimmed(cell[...])
        if text.hasPrefix("=\""), text.hasSuffix("\""), text.utf8.count > 2 {
            text = trimmed(text.dropFirst(2).dropLast())
        } else if text.hasPrefix("'"), !text.dropFirst().contains("'") {
            text = text.dropFirst()
        }
        return String(text)
    }

    /// Returns whether a spreadsheet or pandas has turned an id into a number: `5.07553E+16`, `7.0`.
    static func isRounded(_ text: String) -> Bool {
        text.wholeMatch(of: /-?[0-9](?:[.,][0-9]+)?[eE]\+[0-9]{2,}|-?[0-9]+\.0+/) != nil
    }

    private static func trimmed(_ text: Substring) -> Substring {
        // Zero-width characters count as blanks.
        let isBlank = { (character: Character) in
            character.isWhitespace || ["\u{200B}", "\u{FEFF}"].contains(character)
        }
        guard text.first.map(isBlank) ?? false || text.last.map(isBlank) ?? false else { return text }
        var rest = text.drop(while: isBlank)
        while let last = rest.last, isBlank(last) { rest.removeLast() }
        return rest
    }
}
