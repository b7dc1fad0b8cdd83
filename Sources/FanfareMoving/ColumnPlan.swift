public import FanfareTools

/// The use of each column of an imported file.
struct ColumnPlan: Sendable {
    /// The use of one column.
    enum Use: Sendable, Equatable {
        /// A property that all devices have; if several columns give it, the lowest rank wins.
        case field(ImportField, rank: Int)
        /// An attribute of the device.
        case attribute(String)
        /// The column is ignored.
        case none
    }

    private var uses: [String: Use] = [:]

    /// Makes the plan of a format.
    ///
    /// - Parameter mappings: the mappings of the command line, which take precedence.
    init(_ mappings: [ColumnMapping] = []) {
        for field in ImportField.allCases {
            for (rank, column) in field.columns.enumerated() {
                uses[ImportField.key(column)] = .field(field, rank: rank + 1)
            }
        }
        for mapping in mappings { uses[ImportField.key(mapping.column)] = mapping.use }
    }

    /// Returns the use of a column.
    ///
    /// - Parameter column: the column's name; for a member of a nested object both names with a dot between.
    /// - Returns: its use.
    func use(of column: String) -> Use { uses[ImportField.key(column)] ?? .none }
}

/// A mapping of a column to a field: `--map column=field`.
public struct ColumnMapping: Sendable {
    let column: String
    let use: ColumnPlan.Use

    /// Parses `column=field`.
    ///
    /// - Parameter text: a column's name, `=`, and its use: a field's name, `attributes.NAME`, or `-` to ignore it.
    /// - Throws: ``ToolError`` of kind `usage`.
    public init(_ text: String) throws(ToolError) {
        guard let equals = text.lastIndex(of: "="), equals > text.startIndex else {
            throw ToolError(.usage, "--map \(text.printable): has no “column=field”", hint: Self.hint)
        }
        column = String(text[..<equals])
        let name = String(text[text.index(after: equals)...])
        if name == "-" {
            use = .none
        } else if name.hasPrefix("attributes."), name.utf8.count > 11 {
            use = .attribute(String(name.dropFirst(11)))
        } else if let field = ImportField.allCases.first(where: { $0.name == name }) {
            use = .field(field, rank: 0)
        } else {
            throw ToolError(
                .usage,
                "--map: there is no field “\(name.printable)”",
                hint: Self.hint
            )
        }
    }

    private static let hint =
        "Write --map column=field with one of "
        + ImportField.allCases.map(\.name).joined(separator: ", ") + ", attributes.NAME, or - for nothing."
}
