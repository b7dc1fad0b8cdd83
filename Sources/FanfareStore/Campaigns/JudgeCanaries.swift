package import PostgresClient

/// What came of the few that one run of a campaign went to first.
package struct CanaryVerdict {
    package let app: String
    package let campaign: String
    package let eventID: Int64
    /// Whether all others get it now; otherwise the campaign is paused.
    package let hasPassed: Bool
    /// How many answers there were, and how many of them were failures, for people.
    package let detail: String
}

/// Judges canaries that were waited for long enough, in a transaction of its own.
package struct JudgeCanaries: PostgresStatement {
    package static let name = "judge_canaries"
    package static let sql = """
        SELECT app, campaign, event_id, verdict = 'passed', detail FROM fanfare.judge_canaries($1::timestamptz)
        """

    private let now: Timestamp

    /// - Parameter now: the database's time.
    package init(now: Timestamp) {
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(now)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> CanaryVerdict {
        CanaryVerdict(
            app: try row.string(0),
            campaign: try row.string(1),
            eventID: try row.int64(2),
            hasPassed: try row.bool(3),
            detail: try row.string(4)
        )
    }
}
