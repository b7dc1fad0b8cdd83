import Foundation
public import PostgresClient

extension PrivateCluster {
    /// Returns a libpq URL for the superuser `postgres` over the Unix socket.
    ///
    /// - Parameter database: the database's name, which need not exist yet.
    /// - Returns: the URL, which contains no secret.
    public func connectionURL(database: String = "postgres") -> String {
        let host = Self.percentEncoded(socketDirectory)
        return "postgres:///\(Self.percentEncoded(database))?host=\(host)&port=\(port)&user=postgres"
    }

    /// Creates a database.
    ///
    /// - Parameters:
    ///   - name: its name, case-sensitive.
    ///   - template: the database to copy, which must have no sessions; nil for an empty one.
    /// - Throws: 42P04 if it exists, 55006 if the template is in use.
    public func createDatabase(_ name: String, template: String? = nil) throws(PostgresError) {
        let connection = try administer()
        // The strategy WAL_LOG takes longer if several databases are created at once.
        let source = try template.map { (name) throws(PostgresError) in
            " TEMPLATE " + (try connection.quoteIdentifier(name)) + " STRATEGY FILE_COPY"
        }
        try connection.execute("CREATE DATABASE " + connection.quoteIdentifier(name) + (source ?? ""))
    }

    /// Drops a database and ends the sessions in it; does nothing if it does not exist.
    ///
    /// - Parameter name: its name, case-sensitive.
    /// - Throws: the server's error.
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
