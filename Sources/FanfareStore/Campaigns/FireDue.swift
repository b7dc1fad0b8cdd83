package import PostgresClient

/// The result for one campaign that was due.
package struct FiredRun {
    package let app: String
    package let campaign: String
    /// The event that was emitted; nil if none was.
    package let eventID: Int64?
    /// Why no event was emitted, although the campaign was due.
    package let problem: String?
    /// The last of the skipped times as text; nil if none was skipped.
    package let skippedAt: String?
}

extension SQL {
    /// Fires one campaign that is due, in its own transaction; no row if none is due.
    ///
    /// Binds: now.
    package static let fireDue = Statement<FiredRun, Timestamp>(
        "fire_due",
        """
        SELECT app, campaign, event_id, detail, to_json(skipped_at) #>> '{}' FROM fanfare.fire_due($1::timestamptz)
        """,
        row: FiredRun.init
    )

    /// Computes again when batches, digests and campaigns are due.
    ///
    /// Run it after the clock was set.
    ///
    /// Binds: now.
    package static let reschedule = Statement<Int64, Timestamp>(
        "reschedule",
        "SELECT fanfare.reschedule($1::timestamptz)"
    )

    /// Reads when the next campaign is due, or was; no row if none will be.
    package static let nextCampaign = Statement<Timestamp>(
        "next_campaign",
        """
        SELECT x.next_at FROM fanfare.campaigns AS x
        WHERE x.state = 'active' AND x.dropped_at IS NULL AND x.next_at IS NOT NULL
        ORDER BY x.next_at LIMIT 1
        """
    )
}
