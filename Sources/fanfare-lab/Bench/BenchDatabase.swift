import FanfareConfiguration
internal import FanfareProviders
import FanfareService
import FanfareTools
import Foundation
import PostgresClient
import PrivateCluster

/// The database of a bench: a private cluster, the schema, devices and rules.
struct BenchDatabase: Sendable {
    let url: String
    /// The process id of the server, the parent of its other processes.
    let server: Int32
    let devices: Int

    /// Starts a cluster and fills it.
    ///
    /// - Parameters:
    ///   - place: the folder, which stops the cluster at its end.
    ///   - devices: the number of devices; all subscribe to the topic `all`, and device n belongs to user `u<n>`.
    /// - Returns: the database, still empty.
    /// - Throws: if PostgreSQL cannot be started.
    static func start(in place: BenchPlace, devices: Int) throws -> BenchDatabase {
        // Commits are flushed as in production; the WAL may grow, so that no checkpoint falls into a run by chance.
        let options = ClusterOptions(durable: true, ephemeral: true, settings: ["max_wal_size": "8GB"])
        let cluster = try PrivateCluster.start(options: options)
        place.atEnd { cluster.stop(.immediate) }
        try cluster.createDatabase("bench")
        let pidFile = try? String(contentsOfFile: cluster.directory + "/data/postmaster.pid", encoding: .utf8)
        guard let server = pidFile?.split(separator: "\n").first.flatMap({ Int32($0) }) else {
            throw BenchError("the private cluster in \(cluster.directory) has no postmaster.pid")
        }
        return BenchDatabase(url: cluster.connectionURL(database: "bench"), server: server, devices: devices)
    }

    /// Loads the schema, devices and rules, and the plain table of ``SQL/insertPlain``.
    ///
    /// - Parameter configuration: a configuration file that names this database.
    /// - Throws: the database's error.
    func fill(configuration: String) throws {
        let parsed = try Configuration.load(file: configuration, environment: [:])
        try DatabaseSetup(parsed, environment: [:]).migrate()
        let connection = try connect()
        defer { connection.close() }
        _ = try connection.query("SELECT fanfare.put_policy('bench', $1::jsonb)", Self.policy)
        for rule in Self.rules { _ = try connection.query("SELECT fanfare.put_rule($1::jsonb)", rule) }
        // The first registration creates the target.
        _ = try connection.query(
            "SELECT fanfare.register_device('bench', 'apns', md5('1') || md5('x1'), 'u1')"
        )
        try connection.execute(
            """
            INSERT INTO fanfare.devices (app_id, target_id, provider, token, token_hash, user_id, registered_at)
            SELECT d.app_id, d.target_id, d.provider, x.token, sha256(convert_to(x.token, 'UTF8')), 'u' || x.n, now()
            FROM fanfare.devices AS d
            CROSS JOIN (
                SELECT n, md5(n::text) || md5('x' || n) AS token FROM generate_series(2, \(devices)) AS n
            ) AS x;
            INSERT INTO fanfare.topics (name) VALUES ('all');
            INSERT INTO fanfare.subscriptions SELECT t.id, d.id FROM fanfare.topics AS t CROSS JOIN fanfare.devices AS d;
            CREATE TABLE plain (
                id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                created_at timestamptz NOT NULL DEFAULT clock_timestamp(), type text NOT NULL, payload jsonb NOT NULL
            );
            """
        )
        try connection.execute("VACUUM (ANALYZE)")
    }

    /// Opens a session.
    func connect() throws(PostgresError) -> PostgresConnection {
        try .open(PostgresOptions(url: url, applicationName: "fanfare bench"))
    }

    /// The rules: one recipient per event, one of them with a number that identifies the push at the provider; and a
    /// broadcast.
    private static let rules = [
        """
        {"app": "bench", "name": "one", "event": "bench.one", "to": {"users": "$.user"}, "lane": "transactional",
         "message": {"notification": {"title": "Order {{n}}", "body": "On its way, and with you tomorrow between nine and eleven"}}}
        """,
        """
        {"app": "bench", "name": "sample", "event": "bench.sample", "to": {"users": "$.user"}, "lane": "transactional",
         "collapse": "\(LatencyBench.collapsePrefix){{n}}",
         "message": {"notification": {"title": "Order {{n}}", "body": "On its way, and with you tomorrow between nine and eleven"}}}
        """,
        """
        {"app": "bench", "name": "broadcast", "event": "bench.broadcast", "to": {"topic": "all"}, "lane": "bulk",
         "message": {"notification": {"title": "{{title}}", "body": "On its way, and with you tomorrow between nine and eleven"}}}
        """,
        """
        {"app": "bench", "name": "capped", "event": "bench.capped", "to": {"topic": "all"}, "lane": "bulk", "caps": ["often"],
         "message": {"notification": {"title": "{{title}}", "body": "On its way, and with you tomorrow between nine and eleven"}}}
        """,
    ]
    /// A cap that no user reaches.
    private static let policy = #"{"caps": {"often": {"max": 100, "per": "1d"}}}"#
}

extension BenchPlace {
    /// Starts a cluster with the schema, devices and rules.
    ///
    /// - Parameters:
    ///   - devices: the number of devices.
    ///   - sink: the provider.
    /// - Returns: the database, and the path of a daemon's configuration for it.
    /// - Throws: if PostgreSQL cannot be started.
    func startDatabase(devices: Int, sink: BenchSink) async throws -> (BenchDatabase, configuration: String) {
        try await blocking { [self] in
            let database = try BenchDatabase.start(in: self, devices: devices)
            let configuration = try sink.writeConfiguration(named: "sandbox", database: database, in: self)
            try database.fill(configuration: configuration)
            return (database, configuration)
        }
    }
}

extension PostgresConnection {
    /// Returns a query's single number.
    func number(_ sql: String) throws -> Double {
        guard let text = try query(sql).rows.first?.first.flatMap({ $0 }), let value = Double(text) else {
            throw BenchError("a query of the bench gave no number: \(sql)")
        }
        return value
    }

    /// Returns the server's clock in seconds.
    func clock() throws -> Double {
        try number("SELECT extract(epoch FROM clock_timestamp())")
    }

    /// Returns whether events or deliveries are pending.
    ///
    /// Unfinished work is in at least one of the three tables at any time.
    func hasWork() throws -> Bool {
        // In this order, because dead rows make queries of the outbox slow under load.
        try number(
            """
            SELECT CASE WHEN EXISTS (SELECT FROM fanfare.batches) THEN 1 WHEN EXISTS (SELECT FROM fanfare.plans) THEN 1
                WHEN EXISTS (SELECT FROM fanfare.outbox) THEN 1 ELSE 0 END
            """
        ) == 1
    }
}
