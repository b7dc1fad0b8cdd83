import FanfareSchema

/// The database side of Fanfare.
public enum Schema {
    /// The versions of it that this program works with.
    public static let versions = 2...2

    /// The text of `schema.sql`, compiled in: idempotent, for ``PostgresConnection/execute(_:)``.
    public static let sql = SchemaText.sql
}
