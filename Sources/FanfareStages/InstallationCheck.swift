package import FanfareProviders
package import FanfareStore
package import PostgresClient

/// The database that a daemon may work on.
///
/// Every session is checked when it opens, and the control session repeatedly: an address can start to lead to a copy,
/// and a database can be restored or upgraded under a running daemon.
package enum InstallationCheck {
    /// Any database, for tests of single stages.
    case anywhere
    /// A database adopted by the installation of this name; nil for one without a name.
    case installation(String?)

    /// Verifies the database of a session, and advances the id sequences if the server is on a new timeline.
    ///
    /// A server that accepts no writes passes: its own error says so and where to connect
    /// (``PostgresError/isReadOnly``).
    ///
    /// - Returns: whether ids skipped ahead.
    /// - Throws: ``PostgresError`` with the code `wrongDatabase`; errors of the server.
    package func verify(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        guard case .installation(let name) = self else { return false }
        let installation = try Self.read(on: connection)
        guard !installation.isReplica else { return false }
        do throws(DaemonError) {
            try installation.check(name: name)
        } catch {
            throw PostgresError(.wrongDatabase, message: error.reason, hint: error.hint)
        }
        return try connection.run(SQL.enterTimeline()).first ?? false
    }

    private static func read(on connection: PostgresConnection) throws(PostgresError) -> Installation {
        do throws(PostgresError) {
            if let installation = try connection.run(SQL.readInstallation()).first { return installation }
        } catch {
            // Without the table or the schema, the database may be in the middle of a restore.
            guard error.sqlState == "42P01" || error.sqlState == "3F000" else { throw error }
        }
        throw PostgresError(
            .wrongDatabase,
            message: "this database has no Fanfare schema",
            hint: "Restore it, or look at database.url."
        )
    }
}

extension Installation {
    /// Throws if the daemon must not work on this database.
    ///
    /// - Parameter expected: the configuration's `installation`; nil for a database adopted without a name.
    /// - Throws: `DaemonError` with the reason.
    package func check(name expected: String?) throws(DaemonError) {
        if isReplica {
            throw DaemonError(.configuration, "this database is a replica", hint: "Connect to its primary.")
        }
        guard schemaVersion >= Schema.versions.lowerBound, oldestDaemon <= Schema.versions.upperBound else {
            let command =
                schemaVersion < Schema.versions.lowerBound ? "Run `fanfare migrate`." : "Upgrade Fanfare."
            throw DaemonError(
                .configuration,
                "the database has schema version \(schemaVersion), this daemon works with \(Schema.versions)",
                hint: command
            )
        }
        guard isAdopted else {
            throw DaemonError(.configuration, "this database is not adopted", hint: "Run `fanfare adopt`.")
        }
        guard isSameDatabase else {
            throw DaemonError(
                .configuration,
                "this database is a copy of the one that was adopted; nothing is sent from it",
                hint: "If this copy should send from now on, run `fanfare adopt` and stop the original."
            )
        }
        guard name == expected || expected == nil && name == nil else {
            throw DaemonError(
                .configuration,
                "this database belongs to installation \(name ?? "(unnamed)"), the configuration says \(expected ?? "(none)")",
                hint: "Look at `installation:` and `database.url`, or run `fanfare adopt`."
            )
        }
    }
}
