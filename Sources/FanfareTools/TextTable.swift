/// Rows of text in columns, for terminals.
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

    /// The table, columns aligned, without white space at the ends of lines.
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

    /// A text that cannot drive a terminal: what users stored may hold escape sequences.
    ///
    /// - Parameter text: any text.
    /// - Returns: the text on one line.
    public static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { isUnruly($0) ? " " : $0 }))
    }

    /// JSON that cannot drive a terminal either: what could is escaped, and means the same.
    ///
    /// - Parameter json: as it is encoded.
    /// - Returns: the same on one line.
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

    /// Controls, and what turns the order of the text around it or begins a line.
    private static func isUnruly(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: scalar.properties.isBidiControl
        }
    }
}
