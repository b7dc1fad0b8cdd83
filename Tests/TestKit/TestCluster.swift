internal import FanfareSchema
import PostgresClient
public import PrivateCluster
internal import Threading

/// The PostgreSQL server that all tests of a process share.
///
/// Started at first use. The server ends with the process, and its files are deleted: see `PrivateCluster`.
public enum TestCluster {
    /// A database with the schema, from which the tests' databases are copied.
    enum Template: String {
        /// Log partitions for yesterday, today and tomorrow, and one for other days: copies take a third less time.
        case shortRing = "fanfare_template"
        /// The schema as `schema.sql` creates it, with a partition for each of 32 days.
        case wholeRing = "fanfare_template_whole_ring"
    }

    private static let started = Result { try start() }
    /// The existing templates, each as the server's directory and the name.
    private static let made = Locked<Set<String>>([])

    /// Starts a server.
    ///
    /// - Returns: the server, which the caller stops, or which ends with the process.
    /// - Throws: the reason why it does not run.
    static func start() throws -> PrivateCluster {
        try PrivateCluster.start(options: .tests)
    }

    /// Returns the shared server; the first call starts it, and concurrent calls wait.
    ///
    /// - Returns: a running server.
    /// - Throws: the reason why it does not run. A test never skips without a server, since skipped counts as passed.
    public static func shared() async throws -> PrivateCluster {
        try await onThread("cluster") { try started.get() }
    }

    /// Creates a template on a server unless it exists; concurrent calls wait.
    ///
    /// - Parameters:
    ///   - template: the template.
    ///   - cluster: the shared server or one that ``start()`` started.
    /// - Throws: the error of the schema or the server.
    static func prepare(_ template: Template, on cluster: PrivateCluster) throws {
        try made.withLock { made in
            let name = cluster.directory + "/" + template.rawValue
            guard !made.contains(name) else { return }
            try load(template, on: cluster)
            made.insert(name)
        }
    }

    private static func load(_ template: Template, on cluster: PrivateCluster) throws {
        try cluster.createDatabase(template.rawValue)
        let options = PostgresOptions(url: cluster.connectionURL(database: template.rawValue))
        let connection = try PostgresConnection.open(options)
        try connection.execute(SchemaText.sql)
        if template == .shortRing {
            try connection.execute(shortenRing)
            // Removes the dead rows of the dropped objects, which each copy would contain otherwise.
            try connection.execute("VACUUM FULL")
        }
    }

    private static let shortenRing = """
        SET ROLE fanfare_owner;
        DO $$
        DECLARE
            today CONSTANT int := (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01';
        BEGIN
            FOR day IN 0..31 LOOP
                IF day NOT IN ((today - 1) % 32, today % 32, (today + 1) % 32) THEN
                    EXECUTE format('DROP TABLE fanfare.event_log_%1$s, fanfare.batch_log_%1$s', to_char(day, 'FM00'));
                END IF;
            END LOOP;
        END
        $$;
        CREATE TABLE fanfare.event_log_other_days PARTITION OF fanfare.event_log DEFAULT;
        CREATE TABLE fanfare.batch_log_other_days PARTITION OF fanfare.batch_log DEFAULT;
        GRANT TRUNCATE ON fanfare.event_log_other_days, fanfare.batch_log_other_days TO fanfare_daemon;
        RESET ROLE;
        """
}
