package import FanfareProviders
package import FanfareStore
package import PostgresClient

/// Which database a daemon may work on: looked at in every session when it begins, and by the control session as long as it
/// lasts, since an address can come to lead to a copy, and a database can be restored or upgraded under a running daemon.
package enum InstallationCheck {
    /// Any, as for single stages in tests.
    case anywhere
    /// The one that the installation of this name adopted; nil if it has none.
    case installation(String?)

    /// Looks where a session leads, and has ids skip ahead if its server is no longer the one that gave the last.
    ///
    /// A server that takes no writes passes: it says so itself, and where to connect instead (``PostgresError/isReadOnly``).
    ///
    /// - Returns: whether ids skipped ahead.
    /// - Throws: ``PostgresError`` with the code `wrongDatabase`; what the server says.
    package func verify(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
        guard case .installation(let name) = self else { return false }
        let installation = try Self.read(on: connection)
        guard !installation.isReplica else { return false }
        do throws(DaemonError) {
            try installation.check(name: name)
        } catch {
            throw PostgresError(.wrongDatabase, message: error.reason, hint: error.hint)
        }
        return try connection.run(EnterTimeline()).first ?? false
    }

    private static func read(on connection: PostgresConnection) throws(PostgresError) -> Installation {
        do throws(PostgresError) {
            if let installation = try connection.run(ReadInstallation()).first { return installation }
        } catch {
            // No table or no schema: it may be in the middle of being restored.
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
    /// Refuses a database that is not the one this daemon was made for.
    ///
    /// - Parameter expected: the configuration's `installation`; nil checks no name.
    /// - Throws: what the database says.
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
