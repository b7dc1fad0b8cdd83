package import FanfareCore
package import PostgresClient

/// The devices of an audience, counted by what tells them apart in a campaign.
package struct AudienceCells: Sendable {
    /// Those of one provider and one time zone that are disabled for one reason, or not.
    package struct Cell: Sendable, Equatable {
        package let provider: String
        /// As it was registered; nil for devices that have none.
        package let timeZone: String?
        /// Why they are disabled; nil where they are not.
        package let disabledReason: String?
        package let devices: Int64
        /// When clocks there show the wall time that was asked about; nil where none was.
        package let dueAt: Timestamp?
        /// What clocks there show at the time that was asked about: `2026-12-01 09:00`.
        package let wall: String
    }

    package let cells: [Cell]
    /// The users of those that are not disabled.
    package let users: Int64
    /// How many users the campaign's query named; nil where it has none.
    package let named: Int64?
    /// What the query says of one of them; empty where it says nothing.
    package let variables: JSONObject
}

extension AudienceQuery {
    /// Counts the audience.
    ///
    /// - Parameters:
    ///   - wall: what clocks show where a device is when it is due; nil where all are due at once.
    ///   - defaultZone: the time zone of devices without one that the server knows.
    ///   - time: at which clocks are read.
    ///   - connection: on which the caller has limited how long a statement may take.
    /// - Returns: the cells that are not empty.
    /// - Throws: what the database says.
    package func cells(
        wall: String?,
        defaultZone: String,
        at time: Timestamp,
        on connection: PostgresConnection
    ) throws(PostgresError) -> AudienceCells {
        let own = [wall, defaultZone, String(time.microseconds)]
        let rows = try connection.query(cellsSQL, binds: binds + own).rows
        func number(_ text: String?) -> Int64? { text.flatMap { Int64($0) } }
        let cells = rows.compactMap { row -> AudienceCells.Cell? in
            guard let provider = row[3], let devices = number(row[6]) else { return nil }
            return AudienceCells.Cell(
                provider: provider,
                timeZone: row[4],
                disabledReason: row[5],
                devices: devices,
                dueAt: number(row[7]).map { Timestamp(microseconds: $0) },
                wall: row[8] ?? ""
            )
        }
        let head = rows.first ?? [nil, nil, nil]
        return AudienceCells(
            cells: cells,
            users: number(head[0]) ?? 0,
            named: number(head[1]),
            variables: head[2].flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? JSONObject()
        )
    }

    /// The first three columns are the same in all rows.
    ///
    /// Time zones are looked up once for each cell, not for each device.
    private var cellsSQL: String {
        let (wall, zone, time) = ("$\(binds.count + 1)", "$\(binds.count + 2)", "$\(binds.count + 3)")
        let query =
            isOfQuery
            ? "(SELECT count(*) FROM named), (SELECT n.variables FROM named AS n WHERE n.variables IS NOT NULL LIMIT 1)::text"
            : "NULL, NULL"
        return """
            \(prologue)SELECT u.users, \(query), c.provider, c.time_zone, c.disabled_reason, c.devices,
                (extract(epoch FROM fanfare.instant(\(wall)::timestamp, z.name)) * 1000000)::bigint,
                to_char(to_timestamp(\(time)::bigint / 1000000.0) AT TIME ZONE z.name, 'YYYY-MM-DD HH24:MI')
            FROM (\(usersSQL)) AS u (users)
            LEFT JOIN (
                SELECT d.provider, d.time_zone, d.disabled_reason, count(*) AS devices \(source)
                GROUP BY d.provider, d.time_zone, d.disabled_reason
            ) AS c ON true
            LEFT JOIN LATERAL (SELECT fanfare.zone(c.time_zone, \(zone)::text) AS name OFFSET 0) AS z ON c.provider IS NOT NULL
            ORDER BY c.provider, c.time_zone, c.disabled_reason
            """
    }
}
