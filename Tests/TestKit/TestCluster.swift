internal import FanfareStore
import PostgresClient
public import PrivateCluster

/// The PostgreSQL server that all tests of a process share.
///
/// Started at first use. It ends, and its files go, with the process: see `PrivateCluster`.
public enum TestCluster {
    /// Name of the database that has the schema and that every test's database is copied from.
    static let template = "fanfare_template"

    private static let started = Result { try start() }

    /// Starts a server with the template.
    ///
    /// - Returns: the server, which the caller stops, or which ends with the process.
    /// - Throws: why there is none.
    static func start() throws -> PrivateCluster {
        let cluster = try PrivateCluster.start(options: .tests)
        try loadTemplate(on: cluster)
        return cluster
    }

    /// The shared server; the first call starts it, others wait for that.
    ///
    /// - Returns: a running server, whose template is loaded.
    /// - Throws: why there is none. A test never skips for want of a server, since skipped counts as passed.
    public static func shared() async throws -> PrivateCluster {
        try await onThread("cluster") { try started.get() }
    }

    /// Creates the template on a server.
    ///
    /// - Parameter cluster: a server that just started.
    /// - Throws: what the schema or the server says.
    private static func loadTemplate(on cluster: PrivateCluster) throws {
        try cluster.createDatabase(template)
        let options = PostgresOptions(url: cluster.connectionURL(database: template))
        let connection = try PostgresConnection.open(options)
        try connection.execute(Schema.sql)
    }
}
