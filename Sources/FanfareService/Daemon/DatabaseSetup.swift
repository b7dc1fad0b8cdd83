internal import PostgresClient

/// What is done to a database before a daemon can work on it.
public struct DatabaseSetup: Sendable {
    private let options: PostgresOptions
    private let installation: String?

    /// Takes the place from a configuration.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Throws: ``DaemonError`` for a password file that cannot be read.
    public init(
        _ configuration: Configuration,
        environment: [String: String]
    ) throws(DaemonError) {
        options = try configuration.postgresOptions(environment: environment)
        installation = configuration.installation
    }

    /// Loads the schema, again where it is there already; a database that nobody adopted yet is adopted.
    ///
    /// - Throws: ``DaemonError``, naming a missing privilege.
    public func migrate() throws(DaemonError) {
        try run { connection throws(PostgresError) in
            try connection.execute(Schema.sql)
            let adopted = try connection.query("SELECT FROM fanfare.installation")
            if adopted.rows.isEmpty { _ = try connection.query("SELECT fanfare.adopt($1)", installation) }
        }
    }

    /// Makes this database the one that the configured installation sends from.
    ///
    /// - Throws: ``DaemonError``.
    public func adopt() throws(DaemonError) {
        try run { connection throws(PostgresError) in
            _ = try connection.query("SELECT fanfare.adopt($1)", installation)
        }
    }

    private func run(_ work: (PostgresConnection) throws(PostgresError) -> Void) throws(DaemonError) {
        do throws(PostgresError) {
            let connection = try PostgresConnection.open(options)
            defer { connection.close() }
            try work(connection)
        } catch {
            guard error.sqlState == "42501" else { throw DaemonError(databaseError: error) }
            throw DaemonError(
                .configuration,
                "\(error)",
                hint: "Run it as a superuser, or as a role with CREATEROLE and CREATE on the database."
            )
        }
    }
}
