import PostgresClient
public import PrivateCluster

/// A primary and a promoted standby; the old primary was restarted without fencing and accepts writes.
public struct FailedOver: Sendable {
    /// The old primary, on its timeline.
    public let old: PrivateCluster
    /// The new primary, on the next timeline.
    public let new: PrivateCluster

    /// Fails over to the standby of a server.
    ///
    /// - Parameters:
    ///   - old: the server, which crashes and is restarted at the end.
    ///   - new: its standby, which has received all WAL.
    /// - Throws: the server's error.
    public init(from old: PrivateCluster, to new: PrivateCluster) throws {
        (self.old, self.new) = (old, new)
        old.suspend(.immediate)
        try Self.promote(new)
        try old.resume()
    }

    /// Promotes a standby, and waits until it accepts writes.
    ///
    /// - Parameter standby: the standby.
    /// - Throws: the server's error.
    public static func promote(_ standby: PrivateCluster) throws {
        let connection = try PostgresConnection.open(PostgresOptions(url: standby.connectionURL()))
        defer { connection.close() }
        try connection.execute("SELECT pg_catalog.pg_promote()")
    }

    /// Returns a URL of several servers that requires a writable one.
    ///
    /// - Parameters:
    ///   - servers: the servers, in the order in which libpq tries them.
    ///   - database: the database's name.
    /// - Returns: the URL, for the superuser.
    public static func url(of servers: [PrivateCluster], database: String = "postgres") -> String {
        let hosts = servers.map(\.directory).joined(separator: ",")
        let ports = servers.map { "\($0.port)" }.joined(separator: ",")
        return "postgres:///\(database)?host=\(hosts)&port=\(ports)&user=postgres&target_session_attrs=read-write"
    }
}
