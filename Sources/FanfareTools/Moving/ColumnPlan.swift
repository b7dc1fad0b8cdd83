/// Which column says what.
struct ColumnPlan: Sendable {
    /// What one column is for.
    enum Use: Sendable, Equatable {
        /// It says something that all devices have; of several that do, the lowest rank counts.
        case field(ImportField, rank: Int)
        /// It becomes an attribute.
        case attribute(String)
        /// Nothing.
        case none
    }

    private var uses: [String: Use] = [:]

    /// Plans for a format.
    ///
    /// - Parameter mappings: what was told otherwise.
    init(_ mappings: [ColumnMapping] = []) {
        for field in ImportField.allCases {
            for (rank, column) in field.columns.enumerated() {
                uses[ImportField.key(column)] = .field(field, rank: rank + 1)
            }
        }
        for mapping in mappings { uses[ImportField.key(mapping.column)] = mapping.use }
    }

    /// What a column is for.
    ///
    /// - Parameter column: its name; of a member inside an object both names with a dot between.
    /// - Returns: its use.
    func use(of column: String) -> Use { uses[ImportField.key(column)] ?? .none }
}

/// What a column is to be taken for: `--map column=field`.
public struct ColumnMapping: Sendable {
    let column: String
    let use: ColumnPlan.Use

    /// Reads `column=field`.
    ///
    /// - Parameter text: a column's name, `=`, and what it says: a field's name, `attributes.NAME`, or `-` for nothing.
    /// - Throws: ``ToolError`` of kind `usage`.
    public init(_ text: String) throws(ToolError) {
        guard let equals = text.lastIndex(of: "="), equals > text.startIndex else {
            throw ToolError(.usage, "--map \(TextTable.printable(text)): has no “column=field”", hint: Self.hint)
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
                "--map: there is no field “\(TextTable.printable(name))”",
                hint: Self.hint
            )
        }
    }

    private static let hint =
        "Write --map column=field with one of "
        + ImportField.allCases.map(\.name).joined(separator: ", ") + ", attributes.NAME, or - for nothing."
}
