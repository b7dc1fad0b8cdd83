package import PostgresClient

/// The verdict on the canary of one run of a campaign.
package struct CanaryVerdict {
    package let app: String
    package let campaign: String
    package let eventID: Int64
    /// Whether the other recipients get the push now; otherwise the campaign is paused.
    package let hasPassed: Bool
    /// A readable text with the numbers of responses and failures.
    package let detail: String
}

/// Judges canaries whose waiting time has passed, in its own transaction.
package struct JudgeCanaries: PostgresStatement {
    package static let name = "judge_canaries"
    package static let sql = """
        SELECT app, campaign, event_id, verdict = 'passed', detail FROM fanfare.judge_canaries($1::timestamptz)
        """

    private let now: Timestamp

    /// - Parameter now: the time, in database time.
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
