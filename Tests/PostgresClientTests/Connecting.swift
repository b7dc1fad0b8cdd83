import PostgresClient
import PrivateCluster
import TestKit

/// A session on the shared server's own database: these tests need no schema, and a copy of it takes 100 ms.
func connect(
    _ session: SessionSettings = .plain,
    adjust: (inout PostgresOptions) -> Void = { _ in }
) async throws -> PostgresConnection {
    var options = try await sharedOptions()
    options.session = session
    adjust(&options)
    return try .open(options)
}

/// Where the shared server is.
func sharedOptions() async throws -> PostgresOptions {
    PostgresOptions(url: try await TestCluster.shared().connectionURL(), applicationName: "test")
}

extension PostgresConnection {
    /// The first column of the first row.
    func text(_ sql: String, _ binds: String?...) throws -> String? {
        try query(sql, binds: binds).rows.first?.first ?? nil
    }

    /// Blocks until the query's answer is `t`; the server does the waiting, 5 ms at a time.
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
