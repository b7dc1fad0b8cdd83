package import PostgresClient

/// Calls `fanfare.set_preference`.
package struct SetPreference: PostgresStatement {
    package static let name = "set_preference"
    package static let sql = "SELECT fanfare.set_preference($1, $2, $3, $4)"

    package let app: String
    package let user: String
    package let category: String
    package let isOptedOut: Bool

    package init(app: String, user: String, category: String, isOptedOut: Bool) {
        self.app = app
        self.user = user
        self.category = category
        self.isOptedOut = isOptedOut
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(user)
        binds.append(category)
        binds.append(isOptedOut)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Calls `fanfare.snooze`.
package struct SnoozeUser: PostgresStatement {
    package static let name = "snooze_user"
    package static let sql = """
        SELECT fanfare.snooze($1, $2, coalesce($3::timestamptz, clock_timestamp() + make_interval(secs => $4::float8)), $5)
        """

    package let app: String
    package let user: String
    /// A time in PostgreSQL's syntax; nil for ``seconds`` from now, or to end the snooze.
    package let until: String?
    package let seconds: Int64?
    package let category: String

    package init(app: String, user: String, until: String?, seconds: Int64?, category: String) {
        self.app = app
        self.user = user
        self.until = until
        self.seconds = seconds
        self.category = category
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(user)
        binds.append(until)
        binds.append(seconds)
        binds.append(category)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Reads the preferences of an app's user, by category.
package struct UserPreferences: PostgresStatement {
    package static let name = "user_preferences"
    package static let sql = """
        SELECT p.category, p.opted_out, CASE WHEN p.snoozed_until > statement_timestamp() THEN p.snoozed_until END
        FROM fanfare.preferences AS p JOIN fanfare.apps AS a ON a.id = p.app_id
        WHERE a.name = $1 AND p.user_id = $2
        ORDER BY p.category
        """

    package let app: String
    package let user: String

    package init(app: String, user: String) {
        self.app = app
        self.user = user
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(user)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> UserPreference {
        UserPreference(
            category: try row.string(0),
            isOptedOut: try row.bool(1),
            snoozedUntil: try row.timestamp(orNil: 2)
        )
    }
}
