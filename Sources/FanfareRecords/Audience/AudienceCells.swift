package import FanfareCore
package import PostgresClient

/// An audience's devices, counted by provider, time zone and reason of disabling.
package struct AudienceCells: Sendable {
    /// The devices with one provider, one time zone and one reason of disabling, or enabled.
    package struct Cell: Sendable, Equatable {
        package let provider: String
        /// The time zone as it was registered; nil for devices without one.
        package let timeZone: String?
        /// The reason of disabling; nil for enabled devices.
        package let disabledReason: String?
        package let devices: Int64
        /// The instant at which clocks there show the requested wall time; nil if there is no wall time.
        package let dueAt: Timestamp?
        /// The wall time there at the requested time: `2026-12-01 09:00`.
        package let wall: String
    }

    package let cells: [Cell]
    /// The number of users with an enabled device.
    package let users: Int64
    /// The number of users that the campaign's query returned; nil if it has no query.
    package let named: Int64?
    /// The query's variables for one of the users; empty if it returns none.
    package let variables: JSONObject
}

extension AudienceQuery {
    /// Counts the audience.
    ///
    /// - Parameters:
    ///   - wall: the wall time at which a device is due; nil if all are due at once.
    ///   - defaultZone: the time zone of devices without one that the server knows.
    ///   - time: the time for which wall times are computed.
    ///   - connection: a connection whose statement timeout the caller has set.
    /// - Returns: the cells that are not empty.
    /// - Throws: the database's error.
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

    /// A query whose first three columns are the same in all rows.
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
