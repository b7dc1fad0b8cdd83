/// What `schema.sql` says.
///
/// A target of its own: compiling the embedded bytes takes longer than all statements together.
public enum SchemaText {
    /// The whole text, compiled in.
    public static let sql = String(decoding: PackageResources.schema_sql, as: UTF8.self)
}
