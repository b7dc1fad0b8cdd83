package import PostgresClient

/// A time at which a campaign is due.
package struct CampaignTime: Sendable, Equatable {
    /// The schedule's position among those requested, from 1.
    package let position: Int64
    package let at: Timestamp
    /// The wall time then, in the schedule's zone.
    package let wall: String

    package init(position: Int64, at: Timestamp, wall: String) {
        (self.position, self.at, self.wall) = (position, at, wall)
    }
}

/// Computes the next times of schedules, stored or not, in order.
///
/// There are no rows for a schedule that is never due again. The time zones must be valid.
package struct CampaignTimes: PostgresStatement {
    package static let name = "campaign_times"
    package static let sql = """
        WITH RECURSIVE due AS (
            SELECT s.position, s.fields::jsonb AS fields, s.zone, 1 AS number,
                fanfare.next_due(s.fields::jsonb, fanfare.wall_time(s.wall), s.zone, n.at) AS at, n.at AS began
            FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS s (fields, wall, zone, position)
            CROSS JOIN (SELECT statement_timestamp() AS at) AS n
            UNION ALL
            SELECT d.position, d.fields, d.zone, d.number + 1, fanfare.next_due(d.fields, NULL, d.zone, d.at), d.began
            FROM due AS d
            WHERE d.at IS NOT NULL AND d.fields IS NOT NULL AND d.number < $4::int
        )
        SELECT position, at, to_char(fanfare.shown_at(at, zone), 'YYYY-MM-DD HH24:MI') FROM due
        WHERE at > began
        ORDER BY position, at
        """

    /// One schedule: the lists of a cron expression as JSON, or a wall time, in a time zone.
    package struct Schedule: Sendable {
        package let cronFields: String?
        package let wall: String?
        package let timeZone: String

        package init(cronFields: String?, wall: String?, timeZone: String) {
            (self.cronFields, self.wall, self.timeZone) = (cronFields, wall, timeZone)
        }
    }

    package let schedules: [Schedule]
    package let count: Int32

    /// - Parameters:
    ///   - schedules: the schedules.
    ///   - count: the most times for each.
    package init(_ schedules: [Schedule], count: Int32) {
        self.schedules = schedules
        self.count = count
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(schedules.map(\.cronFields))
        binds.append(schedules.map(\.wall))
        binds.append(schedules.map(\.timeZone))
        binds.append(count)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> CampaignTime {
        CampaignTime(position: try row.int64(0), at: try row.timestamp(1), wall: try row.string(2))
    }
}
