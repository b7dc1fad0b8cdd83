package import PostgresClient

extension SQL {
    /// Raises an alarm in `fanfare.health` for a maintenance task that keeps failing.
    ///
    /// Binds: chore, detail.
    package static let raiseChoreAlarm = Statement<Void, String, String>(
        "raise_chore_alarm",
        """
        INSERT INTO fanfare.alarms (name, detail) VALUES ('chore/' || $1, $2)
        ON CONFLICT (name) DO UPDATE SET detail = excluded.detail
        """
    )

    /// Clears the alarms of tasks that no longer fail.
    ///
    /// Binds: failing.
    package static let endChoreAlarms = Statement<Void, [String]>(
        "end_chore_alarms",
        """
        DELETE FROM fanfare.alarms WHERE name LIKE 'chore/%' AND name <> ALL (SELECT 'chore/' || c.name FROM unnest($1::text[]) AS c (name))
        """
    )
}
