package import PostgresClient

/// A campaign that was put, and that nobody has judged.
package struct CampaignDraft {
    package let id: Int32
    package let version: Int32
    package let app: String
    package let name: String
    package let definition: String
}

/// The campaigns that wait to be judged, some at a time.
package struct CampaignDrafts: PostgresStatement {
    package static let name = "campaign_drafts"
    package static let sql = """
        SELECT c.id, c.version, a.name, c.name, c.draft::text
        FROM fanfare.campaigns AS c
        JOIN fanfare.apps AS a ON a.id = c.app_id
        WHERE c.draft IS NOT NULL AND c.reason IS NULL AND c.dropped_at IS NULL
        ORDER BY c.id
        LIMIT 100
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> CampaignDraft {
        CampaignDraft(
            id: try row.int32(0),
            version: try row.int32(1),
            app: try row.string(2),
            name: try row.string(3),
            definition: try row.string(4)
        )
    }
}

/// Puts a campaign that was found good into force.
package struct TakeCampaign: PostgresStatement {
    package static let name = "take_campaign"
    package static let sql = "SELECT fanfare.take_campaign($1::int, $2::int, $3::jsonb, $4::timestamptz)"

    private let id: Int32
    private let version: Int32
    private let cronFields: String?
    private let now: Timestamp

    /// - Parameters:
    ///   - id: the campaign's.
    ///   - version: that was judged.
    ///   - cronFields: the lists of its cron expression, as JSON, if it has one.
    ///   - now: its schedule is due after this.
    package init(id: Int32, version: Int32, cronFields: String?, now: Timestamp) {
        (self.id, self.version, self.cronFields, self.now) = (id, version, cronFields, now)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
        binds.append(version)
        binds.append(cronFields)
        binds.append(now)
    }

    /// Whether it is in force; else another was put meanwhile, or it is refused as never due.
    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Refuses what was put of a campaign; what was in force before stays.
package struct RefuseCampaign: PostgresStatement {
    package static let name = "refuse_campaign"
    package static let sql = """
        UPDATE fanfare.campaigns AS c
        SET reason = left($3::text, 2000), state = CASE WHEN c.definition IS NULL THEN 'refused' ELSE c.state END
        WHERE c.id = $1::int AND c.version = $2::int AND c.draft IS NOT NULL
        """

    private let id: Int32
    private let version: Int32
    private let reason: String

    /// - Parameters:
    ///   - id: the campaign's.
    ///   - version: that was judged.
    ///   - reason: what is wrong with it, where, and how to fix it.
    package init(id: Int32, version: Int32, reason: String) {
        (self.id, self.version, self.reason) = (id, version, reason)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
        binds.append(version)
        binds.append(reason)
    }
}
