package import PostgresClient

extension SQL {
    /// Ends a session of the console, and deletes ended sessions that would have expired by now.
    ///
    /// Binds: id, end.
    package static let endSession = Statement<Void, Int64, Double>(
        "end_session",
        """
        WITH forgotten AS (
            DELETE FROM fanfare.ended_sessions WHERE ends_at < clock_timestamp()
        )
        INSERT INTO fanfare.ended_sessions (id, ends_at) VALUES ($1, to_timestamp($2)) ON CONFLICT DO NOTHING
        """
    )

    /// Whether a session was ended by logging out.
    ///
    /// Binds: id.
    package static let isSessionEnded = Statement<Bool, Int64>(
        "is_session_ended",
        "SELECT EXISTS (SELECT FROM fanfare.ended_sessions WHERE id = $1)"
    )
}
