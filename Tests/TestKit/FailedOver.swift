import PostgresClient
public import PrivateCluster

/// A primary and a standby that took over from it; the old primary is started again and takes writes, as nobody fenced it.
public struct FailedOver: Sendable {
    /// The primary of before, on its timeline.
    public let old: PrivateCluster
    /// The new primary, on the next timeline.
    public let new: PrivateCluster

    /// Makes the standby of a server take over.
    ///
    /// - Parameters:
    ///   - old: the server; crashes, and is started again at the end.
    ///   - new: its standby, which has everything already.
    /// - Throws: what a server says.
    public init(from old: PrivateCluster, to new: PrivateCluster) throws {
        (self.old, self.new) = (old, new)
        old.suspend(.immediate)
        try Self.promote(new)
        try old.resume()
    }

    /// Promotes a standby, and waits until it takes writes.
    ///
    /// - Parameter standby: the standby.
    /// - Throws: what the server says.
    public static func promote(_ standby: PrivateCluster) throws {
        let connection = try PostgresConnection.open(PostgresOptions(url: standby.connectionURL()))
        defer { connection.close() }
        try connection.execute("SELECT pg_catalog.pg_promote()")
    }

    /// A URL of several servers that asks for one that takes writes.
    ///
    /// - Parameters:
    ///   - servers: in the order in which libpq tries them.
    ///   - database: the database's name.
    /// - Returns: the URL, for the superuser.
    public static func url(of servers: [PrivateCluster], database: String = "postgres") -> String {
        let hosts = servers.map(\.directory).joined(separator: ",")
        let ports = servers.map { "\($0.port)" }.joined(separator: ",")
        return "postgres:///\(database)?host=\(hosts)&port=\(ports)&user=postgres&target_session_attrs=read-write"
    }
}
