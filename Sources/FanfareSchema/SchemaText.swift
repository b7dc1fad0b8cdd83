internal import CSchema

/// What `schema.sql` says.
public enum SchemaText {
    /// The whole text, compiled in.
    public static let sql = unsafe String(
        decoding: UnsafeRawBufferPointer(start: fanfare_schema(), count: fanfare_schema_length()),
        as: UTF8.self
    )
}
