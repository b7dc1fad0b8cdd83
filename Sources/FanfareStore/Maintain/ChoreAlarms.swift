package import PostgresClient

/// Raises an alarm in `fanfare.health` for a maintenance task that keeps failing.
package struct RaiseChoreAlarm: PostgresStatement {
    package static let name = "raise_chore_alarm"
    package static let sql = """
        INSERT INTO fanfare.alarms (name, detail) VALUES ('chore/' || $1, $2)
        ON CONFLICT (name) DO UPDATE SET detail = excluded.detail
        """

    package let chore: String
    package let detail: String

    package init(chore: String, detail: String) {
        self.chore = chore
        self.detail = detail
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(chore)
        binds.append(detail)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Clears the alarms of tasks that no longer fail.
package struct EndChoreAlarms: PostgresStatement {
    package static let name = "end_chore_alarms"
    package static let sql = """
        DELETE FROM fanfare.alarms WHERE name LIKE 'chore/%' AND name <> ALL (SELECT 'chore/' || c.name FROM unnest($1::text[]) AS c (name))
        """

    /// The tasks whose last run failed.
    package let failing: [String]

    package init(failing: [String]) {
        self.failing = failing
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(failing)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}
