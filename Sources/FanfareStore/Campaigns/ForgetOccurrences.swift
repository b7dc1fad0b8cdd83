internal import PostgresClient

/// Forgets occurrences that ended long ago, some at a time; only the first are looked at, since they are the oldest.
package struct ForgetOccurrences: PostgresStatement {
    package static let name = "forget_occurrences"
    package static let sql = """
        DELETE FROM fanfare.occurrences WHERE id = ANY (ARRAY(
            SELECT o.id FROM (SELECT id, ended_at FROM fanfare.occurrences ORDER BY id LIMIT \(Forgetting.limit)) AS o
            WHERE o.ended_at < statement_timestamp() - interval '\(Forgetting.gateDays) days'))
        """

    package init() {}
}
