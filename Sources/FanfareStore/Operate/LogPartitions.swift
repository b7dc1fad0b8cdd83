package import FanfareCore
package import PostgresClient

/// When and on which day of the ids a tail begins: now, where it should begin later.
package struct TailStart: PostgresStatement {
    package static let name = "tail_start"
    package static let sql = """
        SELECT s.at::text, (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01',
            (s.at AT TIME ZONE 'UTC')::date - DATE '2020-01-01', (extract(epoch FROM s.at) * 1e6)::bigint
        FROM (
            SELECT least(
                coalesce($2::timestamptz, clock_timestamp() - make_interval(secs => coalesce($1, 0)::float8)), clock_timestamp()
            ) AS at
        ) AS s
        """

    package let since: Since?

    package init(since: Since?) {
        self.since = since
    }

    /// A beginning.
    package struct Row {
        /// The time as PostgreSQL writes it.
        package let since: String
        /// Days since 2020-01-01, as ids have them.
        package let today: Int64
        package let sinceDay: Int64
        /// The time in microseconds since 1970.
        package let sinceMicroseconds: Int64
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(since?.seconds)
        binds.append(since?.text)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            since: try row.string(0),
            today: Int64(try row.int32(1)),
            sinceDay: Int64(try row.int32(2)),
            sinceMicroseconds: try row.int64(3)
        )
    }
}

/// The partitions of both logs.
package struct LogPartitions: PostgresStatement {
    package static let name = "log_partitions"
    package static let sql = """
        SELECT c.relname::text, pg_relation_size(c.oid) / current_setting('block_size')::bigint
        FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent IN ('fanfare.event_log'::regclass, 'fanfare.batch_log'::regclass)
        """

    package init() {}

    /// One partition.
    package struct Row {
        package let name: String
        package let pages: Int64
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(name: try row.string(0), pages: try row.int64(1))
    }
}
