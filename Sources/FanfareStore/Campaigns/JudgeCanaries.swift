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

extension SQL {
    /// Judges canaries whose waiting time has passed, in its own transaction.
    ///
    /// Binds: now.
    package static let judgeCanaries = Statement<CanaryVerdict, Timestamp>(
        "judge_canaries",
        """
        SELECT app, campaign, event_id, verdict = 'passed', detail FROM fanfare.judge_canaries($1::timestamptz)
        """,
        row: CanaryVerdict.init
    )
}
