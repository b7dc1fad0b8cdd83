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

/// The ids among some that are no devices of an app, or not of one of its users.
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
