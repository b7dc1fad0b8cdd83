import Foundation
public import PostgresClient

extension PrivateCluster {
    /// A URL that libpq takes, for the superuser `postgres` over the Unix socket.
    ///
    /// - Parameter database: its name; need not exist yet.
    /// - Returns: the URL; it holds no secret.
    public func connectionURL(database: String = "postgres") -> String {
        let host = Self.percentEncoded(socketDirectory)
        return "postgres:///\(Self.percentEncoded(database))?host=\(host)&port=\(port)&user=postgres"
    }

    /// Creates a database.
    ///
    /// - Parameters:
    ///   - name: its name, exact case.
    ///   - template: the database to copy, to which nobody may be connected; nil for an empty one.
    /// - Throws: 42P04 if it exists, 55006 if somebody uses the template.
    public func createDatabase(_ name: String, template: String? = nil) throws(PostgresError) {
        let connection = try administer()
        // With the strategy WAL_LOG it takes longer, where several databases are created at once.
        let source = try template.map { (name) throws(PostgresError) in
            " TEMPLATE " + (try connection.quoteIdentifier(name)) + " STRATEGY FILE_COPY"
        }
        try connection.execute("CREATE DATABASE " + connection.quoteIdentifier(name) + (source ?? ""))
    }

    /// Drops a database, ending the sessions in it; nothing happens if there is none.
    ///
    /// - Parameter name: its name, exact case.
    /// - Throws: what the server says.
    public func dropDatabase(_ name: String) throws(PostgresError) {
        let connection = try administer()
        try connection.execute("DROP DATABASE IF EXISTS " + connection.quoteIdentifier(name) + " WITH (FORCE)")
    }

    private func administer() throws(PostgresError) -> PostgresConnection {
        try .open(PostgresOptions(url: connectionURL(), applicationName: "fanfare private cluster"))
    }

    private static func percentEncoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }
}
