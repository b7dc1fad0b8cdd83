package import PostgresClient

extension SQL {
    /// Deletes some stored users of audiences whose runs have ended.
    ///
    /// A test run is not stored as running, so its audience is kept while it may be sent: a day, and a little longer.
    package static let forgetAudiences = Statement<Void>(
        "forget_audiences",
        """
        WITH RECURSIVE events AS (
            SELECT (SELECT min(event_id) FROM fanfare.audiences) AS id
            UNION ALL
            SELECT (SELECT min(a.event_id) FROM fanfare.audiences AS a WHERE a.event_id > e.id) FROM events AS e WHERE e.id IS NOT NULL
        )
        DELETE FROM fanfare.audiences WHERE ctid = ANY (ARRAY(
            SELECT a.ctid FROM events AS e JOIN fanfare.audiences AS a ON a.event_id = e.id
            WHERE NOT EXISTS (
                SELECT FROM fanfare.runs AS o
                WHERE o.event_id = e.id AND (o.state IN ('running', 'aborting')
                    OR o.test_users IS NOT NULL AND o.ended_at > statement_timestamp() - interval '25 hours'))
            LIMIT \(Forgetting.limit)))
        """
    )

    /// Deletes some runs that ended long ago; only the first are read, since they are the oldest.
    package static let forgetRuns = Statement<Void>(
        "forget_runs",
        """
        DELETE FROM fanfare.runs WHERE id = ANY (ARRAY(
            SELECT o.id FROM (SELECT id, ended_at FROM fanfare.runs ORDER BY id LIMIT \(Forgetting.limit)) AS o
            WHERE o.ended_at < statement_timestamp() - interval '\(Forgetting.gateDays) days'))
        """
    )
}
