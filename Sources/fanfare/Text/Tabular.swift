/// A row of a list that a command prints.
protocol Tabular {
    /// Formats rows as a table.
    static func table(_ rows: [Self]) -> String
}
