import FanfareTools

/// A table of text in columns, for terminals.
struct TextTable: Sendable {
    private let header: [String]
    private var rows: [[String]] = []

    /// Makes a table without rows.
    ///
    /// - Parameter header: the columns' names.
    init(_ header: [String]) {
        self.header = header
    }

    /// Appends a row.
    ///
    /// - Parameter cells: one per column; line breaks and control characters become spaces.
    mutating func append(_ cells: [String]) {
        rows.append(cells.map(\.printable))
    }

    /// The table, columns aligned, without trailing white space.
    var text: String {
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
}
