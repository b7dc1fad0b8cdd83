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

/// Fires one campaign that is due, in its own transaction; no row if none is due.
package struct FireDue: PostgresStatement {
    package static let name = "fire_due"
    package static let sql = """
        SELECT app, campaign, event_id, detail, to_json(skipped_at) #>> '{}' FROM fanfare.fire_due($1::timestamptz)
        """

    private let now: Timestamp

    /// - Parameter now: the time by which a campaign must be due.
    package init(now: Timestamp) {
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(now)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> FiredRun {
        FiredRun(
            app: try row.string(0),
            campaign: try row.string(1),
            eventID: try row.int64(orNil: 2),
            problem: try row.string(orNil: 3),
            skippedAt: try row.string(orNil: 4)
        )
    }
}

/// Computes again when batches, digests and campaigns are due.
///
/// Run it after the clock was set.
package struct Reschedule: PostgresStatement {
    package static let name = "reschedule"
    package static let sql = "SELECT fanfare.reschedule($1::timestamptz)"

    private let now: Timestamp

    /// - Parameter now: the time, in database time.
    package init(now: Timestamp) {
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(now)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Reads when the next campaign is due, or was; no row if none will be.
package struct NextCampaign: PostgresStatement {
    package static let name = "next_campaign"
    package static let sql = """
        SELECT x.next_at FROM fanfare.campaigns AS x
        WHERE x.state = 'active' AND x.dropped_at IS NULL AND x.next_at IS NOT NULL
        ORDER BY x.next_at LIMIT 1
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Timestamp {
        try row.timestamp(0)
    }
}
