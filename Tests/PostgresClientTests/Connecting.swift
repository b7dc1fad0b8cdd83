import PostgresClient
import PrivateCluster
import TestKit

/// Opens a session on the shared server's default database: these tests need no schema, and a copy of it takes 100 ms.
func connect(
    _ session: SessionSettings = .plain,
    adjust: (inout PostgresOptions) -> Void = { _ in }
) async throws -> PostgresConnection {
    var options = try await sharedOptions()
    options.session = session
    adjust(&options)
    return try .open(options)
}

/// Returns the options of the shared server.
func sharedOptions() async throws -> PostgresOptions {
    PostgresOptions(url: try await TestCluster.shared().connectionURL(), applicationName: "test")
}

extension PostgresConnection {
    /// Returns the first column of the first row.
    func text(_ sql: String, _ binds: String?...) throws -> String? {
        try query(sql, binds: binds).rows.first?.first ?? nil
    }

    /// Blocks until the query returns `t`; the server does the waiting, in steps of 5 ms.
    func waitUntil(_ sql: String, _ binds: String?...) throws {
        while try query(sql, binds: binds).rows != [["t"]] {
            try execute("SELECT pg_catalog.pg_sleep(0.005)")
        }
    }

    /// Blocks until the session with this process id waits for an advisory lock.
    func waitUntilBlocked(_ backendPID: Int32) throws {
        try waitUntil(
            "SELECT count(*) = 1 FROM pg_catalog.pg_locks WHERE pid = $1 AND locktype = 'advisory' AND NOT granted",
            String(backendPID)
        )
    }
}
