public import FanfareConfiguration
internal import FanfareRecords
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Prepares a database for the daemon.
///
/// Blocks the calling thread. Each task opens a session of its own: loading a schema begins and ends transactions and
/// invalidates prepared statements, so the session must not be shared.
public struct DatabaseSetup: Sendable {
    private let options: PostgresOptions
    private let place: String
    private let installation: String?

    /// Reads the connection parameters from a configuration.
    ///
    /// - Parameters:
    ///   - configuration: checked values.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Throws: ``ToolError`` for a password file that cannot be read.
    public init(
        _ configuration: Configuration,
        environment: [String: String]
    ) throws(ToolError) {
        let database = try ToolDatabase(configuration, environment: environment)
        (options, place) = (database.options, database.place)
        installation = configuration.installation
    }

    /// Loads the schema, or loads it again; adopts a database that has no installation recorded.
    ///
    /// - Parameter endsBySignals: whether SIGTERM and SIGINT cancel the statement on the server; the process's handlers
    ///   for them are replaced.
    /// - Returns: whether the database was adopted.
    /// - Throws: ``ToolError``, naming a missing privilege.
    @discardableResult
    public func migrate(endsBySignals: Bool = false) throws(ToolError) -> Bool {
        try run { connection throws(PostgresError) in
            guard try connection.run(SQL.isStandby()).first == false else {
                throw PostgresError(.server, sqlState: "25006", message: "the server is a standby")
            }
            // Without a cancel request, the statement would continue on the server, and the next one would wait for its
            // locks.
            let canceller = connection.canceller()
            let signals = endsBySignals ? EndingSignals { canceller?.cancel() } : nil
            // The file checks this too, but the server cannot convert the whole file from some other encodings.
            if let refusal = try DatabaseEncoding.read(on: connection).refusal {
                throw PostgresError(.server, sqlState: "0A000", message: refusal, hint: DatabaseEncoding.advice)
            }
            do throws(PostgresError) {
                try connection.execute(Schema.sql)
            } catch {
                throw signals?.isRaised == true ? PostgresError(.cancelled, message: "ended by a signal") : error
            }
            guard try connection.run(SQL.recordedIdentity()).isEmpty else { return false }
            try connection.run(SQL.adoptDatabase(installation))
            return true
        }
    }

    /// Records the configured installation as the one that sends from this database.
    ///
    /// - Throws: ``ToolError``.
    public func adopt() throws(ToolError) {
        _ = try run { connection throws(PostgresError) in
            try connection.run(SQL.adoptDatabase(installation))
        }
    }

    private func run<Result>(_ work: (PostgresConnection) throws(PostgresError) -> Result) throws(ToolError) -> Result {
        do throws(PostgresError) {
            let connection = try PostgresConnection.open(options)
            defer { connection.close() }
            return try work(connection)
        } catch {
            throw refusal(error)
        }
    }

    private func refusal(_ error: PostgresError) -> ToolError {
        switch error.sqlState {
        case "42501":
            ToolError(
                .configuration,
                error.message,
                at: place,
                hint: error.hint ?? "Run it as a superuser, or as a role with CREATEROLE and CREATE on the database."
            )
        // The schema is newer than this program, or Fanfare does not support the server or the database.
        case "55000", "0A000": ToolError(.configuration, error.message, at: place, hint: error.hint ?? "")
        case nil where error.isCancelled:
            ToolError(
                .failed,
                "ended by a signal before it was done",
                at: place,
                hint: "Run it again: it continues with what is missing."
            )
        case "55P03":
            ToolError(
                .failed,
                "other sessions use what has to be changed: \(error.message)",
                at: place,
                hint: "Nothing was changed. Run it again, perhaps when less is going on."
            )
        default: ToolError(error, at: place)
        }
    }
}
