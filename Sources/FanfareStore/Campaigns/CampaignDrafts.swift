package import PostgresClient

/// A stored campaign that no daemon has checked yet.
package struct CampaignDraft {
    package let id: Int32
    package let version: Int32
    package let app: String
    package let name: String
    package let definition: String
}

/// Reads some of the campaigns that wait to be checked.
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

/// Puts a campaign that passed its checks into force.
package struct TakeCampaign: PostgresStatement {
    package static let name = "take_campaign"
    package static let sql = "SELECT fanfare.take_campaign($1::int, $2::int, $3::jsonb, $4::timestamptz)"

    private let id: Int32
    private let version: Int32
    private let cronFields: String?
    private let now: Timestamp

    /// - Parameters:
    ///   - id: the campaign's id.
    ///   - version: the version that was checked.
    ///   - cronFields: the lists of its cron expression as JSON, if it has one.
    ///   - now: the time after which its schedule is due.
    package init(id: Int32, version: Int32, cronFields: String?, now: Timestamp) {
        (self.id, self.version, self.cronFields, self.now) = (id, version, cronFields, now)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
        binds.append(version)
        binds.append(cronFields)
        binds.append(now)
    }

    /// Whether the campaign is in force.
    ///
    /// Otherwise another version was stored meanwhile, or its schedule is never due and it was refused.
    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Refuses a campaign's newest version; the version in force stays.
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
    ///   - id: the campaign's id.
    ///   - version: the version that was checked.
    ///   - reason: the error, its place, and how to fix it.
    package init(id: Int32, version: Int32, reason: String) {
        (self.id, self.version, self.reason) = (id, version, reason)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
        binds.append(version)
        binds.append(reason)
    }
}
