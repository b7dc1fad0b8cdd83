/// A table of text in columns, for terminals.
public struct TextTable: Sendable {
    private let header: [String]
    private var rows: [[String]] = []

    /// Makes a table without rows.
    ///
    /// - Parameter header: the columns' names.
    public init(_ header: [String]) {
        self.header = header
    }

    /// Appends a row.
    ///
    /// - Parameter cells: one per column; line breaks and control characters become spaces.
    public mutating func append(_ cells: [String]) {
        rows.append(cells.map(Self.printable))
    }

    /// The table, columns aligned, without trailing white space.
    public var text: String {
        let all = [header.map { $0.uppercased() }] + rows
        let widths = header.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { cells in
            var line = zip(cells, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }

    /// Returns a text with control characters replaced, because texts of users may hold escape sequences for the
    /// terminal.
    ///
    /// - Parameter text: any text.
    /// - Returns: the text on one line.
    public static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isUnruly($0) ? " " : $0 }))
    }

    /// Returns JSON with control characters escaped for a terminal; its value is the same.
    ///
    /// - Parameter json: encoded JSON.
    /// - Returns: the JSON on one line.
    public static func printableJSON(_ json: String) -> String {
        json.unicodeScalars.reduce(into: "") { text, scalar in
            if isUnruly(scalar) {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Returns whether a scalar is a control character, changes the direction of text or breaks a line.
    private static func isUnruly(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl
        }
    }
}
