package import PostgresClient

extension SQL {
    /// Calls `fanfare.forget_user`.
    ///
    /// Binds: app, user.
    package static let forgetUser = Statement<Int64, String, String>(
        "forget_user",
        "SELECT fanfare.forget_user($1, $2)"
    )
}

/// Disables a user's oldest devices above a limit.
package struct LimitDevices: PostgresStatement {
    package static let name = "limit_devices"
    package static let sql = """
        UPDATE fanfare.devices AS d SET disabled_at = clock_timestamp(), disabled_reason = 'unregistered'
        WHERE d.id IN (
            SELECT x.id FROM fanfare.devices AS x
            WHERE x.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1) AND x.user_id = $2 AND x.disabled_at IS NULL
            ORDER BY x.registered_at DESC, x.id DESC OFFSET $3::int)
        """

    package let app: String
    package let user: String
    package let limit: Int32

    package init(app: String, user: String, limit: Int32) {
        (self.app, self.user, self.limit) = (app, user, limit)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(user)
        binds.append(limit)
    }
}

extension SQL {
    /// Reads which of some ids are no devices of an app, or not of one of its users.
    ///
    /// Binds: ids, app, user.
    package static let devicesOfOthers = Statement<Int64, [Int64], String, String?>(
        "devices_of_others",
        """
        SELECT i.id FROM unnest($1::bigint[]) AS i (id)
        WHERE NOT EXISTS (
            SELECT FROM fanfare.devices AS d
            WHERE d.id = i.id AND d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $2)
                AND ($3::text IS NULL OR d.user_id = $3))
        """
    )
}
