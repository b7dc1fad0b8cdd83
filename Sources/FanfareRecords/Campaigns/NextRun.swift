package import PostgresClient

/// Computes what `fanfare.fire_due` would fire next for a schedule, including a time that is due already and not fired.
///
/// It returns one row, with the time of the query; the due time is nil if the schedule has ended or there is none.
package struct NextRun: PostgresStatement {
    package static let name = "next_run"
    package static let sql = """
        WITH RECURSIVE asked AS (SELECT coalesce($7::timestamptz, statement_timestamp()) AS at),
        due AS (
            SELECT CASE WHEN $5::boolean THEN $6::timestamptz
                WHEN $3::text IS NOT NULL THEN fanfare.next_due($1::text::jsonb, fanfare.wall_time($2::text), $3, a.at) END AS at, 1 AS step
            FROM asked AS a
            UNION ALL
            SELECT fanfare.next_due($1::jsonb, NULL, $3, d.at), d.step + 1
            FROM due AS d CROSS JOIN asked AS a
            WHERE d.at <= a.at AND $1 IS NOT NULL AND $4::text <> 'all' AND d.step < 1000
        )
        SELECT a.at, n.at, fanfare.shown_at(n.at, $3)::text
        FROM asked AS a
        LEFT JOIN LATERAL (
            SELECT d.at FROM due AS d
            WHERE d.at > a.at OR $4 <> 'none'
                OR d.at >= a.at - CASE WHEN $3 = 'recipient' THEN interval '1 hour' ELSE interval '1 minute' END
            ORDER BY d.at > a.at, d.at DESC LIMIT 1
        ) AS n ON true
        """

    /// Whether the schedule is in force.
    package enum Standing: Sendable, Equatable {
        /// In force, with its next time; nil if it has ended.
        case inForce(next: Timestamp?)
        /// Comes into force now.
        case new
    }

    /// The next time of a schedule.
    package struct Row: Sendable, Equatable {
        /// The time of the query.
        package let askedAt: Timestamp
        /// The due time, in the past if it is to be fired at once; nil for never.
        package let at: Timestamp?
        /// The wall time then in the schedule's zone, to the second.
        package let wall: String?

        package init(askedAt: Timestamp, at: Timestamp?, wall: String?) {
            (self.askedAt, self.at, self.wall) = (askedAt, at, wall)
        }
    }

    package let schedule: CampaignTimes.Schedule?
    package let catchUp: String
    package let standing: Standing
    package let now: Timestamp?

    /// - Parameters:
    ///   - schedule: the schedule, whose time zone must be valid; nil if there is none.
    ///   - catchUp: how missed times are handled: `all`, `latest` or `none`.
    ///   - standing: whether it is in force.
    ///   - now: the time of the query; nil for the database's.
    package init(_ schedule: CampaignTimes.Schedule?, catchUp: String, _ standing: Standing, at now: Timestamp? = nil) {
        self.schedule = schedule
        self.catchUp = catchUp
        self.standing = standing
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(schedule?.cronFields)
        binds.append(schedule?.wall)
        binds.append(schedule?.timeZone)
        binds.append(catchUp)
        binds.append(standing != .new)
        if case .inForce(let next) = standing { binds.append(next) } else { binds.append(Timestamp?.none) }
        binds.append(now)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(askedAt: try row.timestamp(0), at: try row.timestamp(orNil: 1), wall: try row.string(orNil: 2))
    }
}
