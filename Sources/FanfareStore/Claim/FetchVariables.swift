package import FanfareCore
package import PostgresClient

/// The variables that a campaign's `audience_sql` returned for one delivery's user.
package struct VariablesRow {
    /// The delivery's position, from 0.
    package let position: Int
    package let variables: JSONObject
}

/// Reads the variables of deliveries' users, for rules whose messages use them; no row for a user without any.
///
/// Two look-ups for each delivery, fenced by OFFSET 0, as for tokens.
package struct FetchVariables: PostgresStatement {
    package static let name = "fetch_variables"
    package static let sql = """
        SELECT u.position - 1, a.variables::text
        FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u (event_id, device_id, position)
        CROSS JOIN LATERAL (
            SELECT x.user_id FROM fanfare.devices AS x WHERE x.id = u.device_id AND x.user_id IS NOT NULL OFFSET 0
        ) AS d
        CROSS JOIN LATERAL (
            SELECT x.variables FROM fanfare.audiences AS x
            WHERE x.event_id = u.event_id AND x.bucket = fanfare.bucket(fanfare.audience_seed(u.event_id), d.user_id)
                AND x.user_id = d.user_id
            OFFSET 0
        ) AS a
        WHERE a.variables IS NOT NULL
        """

    package let eventIDs: [Int64]
    package let deviceIDs: [Int64]

    /// - Parameters:
    ///   - eventIDs: the event of each delivery.
    ///   - deviceIDs: the device of each delivery.
    package init(eventIDs: [Int64], deviceIDs: [Int64]) {
        (self.eventIDs, self.deviceIDs) = (eventIDs, deviceIDs)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventIDs)
        binds.append(deviceIDs)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> VariablesRow {
        let variables = try? JSONValue(parsing: try row.string(1))
        return VariablesRow(position: Int(try row.int64(0)), variables: variables?.objectValue ?? JSONObject())
    }
}
