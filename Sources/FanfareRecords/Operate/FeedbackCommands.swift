package import PostgresClient

extension SQL {
    /// Reads the hooks' state for operators.
    package static let listFeedbackHooks = Statement<FeedbackStateRow>(
        "list_feedback_hooks",
        """
        SELECT name, app, outcomes, state, waiting, is_more, extract(epoch FROM lag)::float8, told_at, failures, error, lost, daemon
        FROM fanfare.feedback_state ORDER BY name
        """
    ) { row throws(PostgresError) in
        FeedbackStateRow(
            name: try row.string(0),
            app: try row.string(orNil: 1),
            outcomes: (try row.read(2) as [String?]).compactMap(\.self),
            state: try row.string(3),
            waiting: try row.int64(4),
            isMore: try row.bool(5),
            lagSeconds: try row.double(6),
            toldAt: try row.timestamp(orNil: 7),
            failures: try row.int32(8),
            error: try row.string(orNil: 9),
            lost: try row.int64(10),
            daemon: try row.string(orNil: 11)
        )
    }
}

/// The progress and state of a hook.
package struct FeedbackStateRow: Sendable {
    package let name: String
    /// The app; nil for all.
    package let app: String?
    package let outcomes: [String]
    /// `ok`, `failing`, `ended`, or `unknown` if no daemon has the hook in its configuration.
    package let state: String
    /// The number of batches that may have outcomes for it.
    package let waiting: Int64
    /// Whether there are more batches than were counted.
    package let isMore: Bool
    /// How long the oldest of those has waited.
    package let lagSeconds: Double
    package let toldAt: Timestamp?
    package let failures: Int32
    package let error: String?
    /// The number of batches that were deleted before they were delivered.
    package let lost: Int64
    /// The daemon that delivers to it.
    package let daemon: String?
}

extension SQL {
    /// Makes a hook deliver everything since a time again; returns how many batches that includes.
    ///
    /// Binds: hook, since seconds, since text.
    package static let replayFeedback = Statement<Int64, String, Int64?, String?>(
        "replay_feedback",
        """
        SELECT fanfare.replay_feedback($1, coalesce($3::timestamptz, clock_timestamp() - make_interval(secs => $2::float8)))
        """
    )

    /// Retries a hook at once, even one that answered 410.
    ///
    /// Binds: hook.
    package static let resumeFeedback = Statement<Bool, String>(
        "resume_feedback",
        "SELECT fanfare.resume_feedback($1) IS NULL"
    )

    /// Deletes the progress of a hook.
    ///
    /// Binds: hook.
    package static let forgetFeedbackHook = Statement<Bool, String>(
        "forget_feedback_hook",
        "SELECT fanfare.forget_feedback($1) IS NULL"
    )
}
