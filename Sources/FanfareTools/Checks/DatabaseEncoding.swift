internal import FanfareProviders
internal import FanfareStore
internal import PostgresClient

/// The encoding of a database; Fanfare sends text as UTF-8.
struct DatabaseEncoding: Equatable {
    let name: String

    /// Reads the encoding from the server.
    static func read(on connection: PostgresConnection) throws(PostgresError) -> DatabaseEncoding {
        DatabaseEncoding(name: try connection.run(SQL.serverEncoding()).first ?? "unknown")
    }

    static let advice = "Create a database with ENCODING 'UTF8'."

    /// Why the schema cannot be loaded; nil if it can be.
    var refusal: String? {
        ["UTF8", "SQL_ASCII"].contains(name) ? nil : "this database's encoding is \(name), and pushes are UTF-8"
    }

    /// The restriction under this encoding, if the schema can be loaded.
    var warning: String? {
        guard name == "SQL_ASCII" else { return nil }
        return "this database's encoding is SQL_ASCII: text that is not valid UTF-8 can be stored, "
            + "and JSON with escapes beyond ASCII is refused"
    }

    /// The item for `check`.
    var item: CheckItem {
        if let refusal { return CheckItem(.fail, "encoding", refusal, advice: Self.advice) }
        if let warning { return CheckItem(.warn, "encoding", warning, advice: Self.advice) }
        return CheckItem(.ok, "encoding", name)
    }
}
