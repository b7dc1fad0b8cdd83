package import PostgresClient

/// Adds one daemon's counts since its last call to the traffic of this minute.
///
/// A daemon that dies loses a few seconds' counts. The commit does not wait for the disk.
package struct AddTraffic: PostgresStatement {
    package static let name = "add_traffic"
    package static let sql = """
        INSERT INTO fanfare.traffic AS t (what, since, target_id, lane, code, count)
        SELECT n.what, date_bin('1 minute', statement_timestamp(), 'epoch'), coalesce(x.id, 0), n.lane, n.code, sum(n.count)
        FROM set_config('synchronous_commit', 'off', true),
            unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::smallint[], $7::bigint[])
                AS n (what, app, provider, environment, lane, code, count)
        LEFT JOIN fanfare.apps AS a ON a.name = n.app
        LEFT JOIN fanfare.targets AS x ON x.app_id = a.id AND x.provider = n.provider AND x.environment = coalesce(n.environment, 'production')
            AND x.native_key IS NULL
        GROUP BY 1, 2, 3, 4, 5
        -- The same for all, or two daemons would wait for each other.
        ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (what, since, target_id, lane, code) DO UPDATE SET count = t.count + excluded.count
        """

    package typealias Row = Void

    /// One count.
    package struct Count {
        package let kind: TrafficKind
        /// The target of the traffic; nil if it has none.
        ///
        /// Without an environment it is the production target.
        package let target: (app: String, provider: String, environment: String?)?
        package let lane: Int16
        package let code: Int16
        package let count: Int64

        package init(
            _ kind: TrafficKind,
            target: (app: String, provider: String, environment: String?)? = nil,
            lane: Int16 = 0,
            code: Int16,
            count: Int64
        ) {
            (self.kind, self.target, self.lane, self.code, self.count) = (kind, target, lane, code, count)
        }
    }

    package let counts: [Count]

    package init(counts: [Count]) {
        self.counts = counts
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(counts.map(\.kind.rawValue))
        binds.append(counts.map { $0.target?.app })
        binds.append(counts.map { $0.target?.provider })
        binds.append(counts.map { $0.target.flatMap(\.environment) })
        binds.append(counts.map(\.lane))
        binds.append(counts.map(\.code))
        binds.append(counts.map(\.count))
    }
}

extension SQL {
    /// Merges minutes of traffic: into ten minutes after six hours, into an hour after two days.
    ///
    /// A merged row has the time of its first minute, so that late counts are added where they belong.
    package static let foldTraffic = Statement<Void>(
        "fold_traffic",
        """
        WITH moved AS (
            DELETE FROM fanfare.traffic AS t
            WHERE t.what = ANY ('{outcome,fate,latency}') AND t.since < statement_timestamp() - interval '6 hours'
                AND t.since <> \(trafficStep)
            RETURNING t.what, \(trafficStep) AS since, t.target_id, t.lane, t.code, t.count
        )
        INSERT INTO fanfare.traffic AS t (what, since, target_id, lane, code, count)
        SELECT what, since, target_id, lane, code, sum(count) FROM moved GROUP BY 1, 2, 3, 4, 5
        ON CONFLICT (what, since, target_id, lane, code) DO UPDATE SET count = t.count + excluded.count
        """
    )

    private static let trafficStep = """
        date_bin(CASE WHEN t.since < statement_timestamp() - interval '2 days' THEN interval '1 hour' ELSE interval '10 minutes' END,
                t.since, 'epoch')
        """

    /// Deletes traffic older than the log.
    ///
    /// Binds: retentionDays.
    package static let forgetTraffic = Statement<Void, Int32>(
        "forget_traffic",
        """
        DELETE FROM fanfare.traffic
        WHERE what = ANY ('{outcome,fate,latency}') AND since < statement_timestamp() - make_interval(days => $1::int)
        """
    )
}
