package import PostgresClient

/// Calls `fanfare.forget_user`.
package struct ForgetUser: PostgresStatement {
    package static let name = "forget_user"
    package static let sql = "SELECT fanfare.forget_user($1, $2)"

    package let app: String
    package let user: String

    package init(app: String, user: String) {
        (self.app, self.user) = (app, user)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(user)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
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

/// Reads which of some ids are no devices of an app, or not of one of its users.
package struct DevicesOfOthers: PostgresStatement {
    package static let name = "devices_of_others"
    package static let sql = """
        SELECT i.id FROM unnest($1::bigint[]) AS i (id)
        WHERE NOT EXISTS (
            SELECT FROM fanfare.devices AS d
            WHERE d.id = i.id AND d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $2)
                AND ($3::text IS NULL OR d.user_id = $3))
        """

    package let ids: [Int64]
    package let app: String
    package let user: String?

    package init(ids: [Int64], app: String, user: String?) {
        (self.ids, self.app, self.user) = (ids, app, user)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ids)
        binds.append(app)
        binds.append(user)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}
