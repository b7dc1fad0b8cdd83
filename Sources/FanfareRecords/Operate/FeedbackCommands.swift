package import FanfareCore
package import PostgresClient

/// Reads the hooks' state for operators.
package struct ListFeedbackHooks: PostgresStatement {
    package static let name = "list_feedback_hooks"
    package static let sql = """
        SELECT name, app, outcomes, state, waiting, is_more, extract(epoch FROM lag)::float8, told_at, failures, error, lost, daemon
        FROM fanfare.feedback_state ORDER BY name
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> FeedbackStateRow {
        FeedbackStateRow(
            name: try row.string(0),
            app: try row.string(orNil: 1),
            outcomes: try row.strings(withNulls: 2).compactMap(\.self),
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

/// Makes a hook deliver everything since a time again; returns how many batches that includes.
package struct ReplayFeedback: PostgresStatement {
    package static let name = "replay_feedback"
    package static let sql = """
        SELECT fanfare.replay_feedback($1, coalesce($3::timestamptz, clock_timestamp() - make_interval(secs => $2::float8)))
        """

    package let hook: String
    package let since: Since

    package init(hook: String, since: Since) {
        (self.hook, self.since) = (hook, since)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(hook)
        binds.append(since.seconds)
        binds.append(since.text)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Retries a hook at once, even one that answered 410.
package struct ResumeFeedback: PostgresStatement {
    package static let name = "resume_feedback"
    package static let sql = "SELECT fanfare.resume_feedback($1) IS NULL"

    package let hook: String

    package init(hook: String) {
        self.hook = hook
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(hook)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Deletes the progress of a hook.
package struct ForgetFeedbackHook: PostgresStatement {
    package static let name = "forget_feedback_hook"
    package static let sql = "SELECT fanfare.forget_feedback($1) IS NULL"

    package let hook: String

    package init(hook: String) {
        self.hook = hook
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(hook)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
