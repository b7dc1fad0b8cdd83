package import PostgresClient

/// A stored campaign that no daemon has checked yet.
package struct CampaignDraft {
    package let id: Int32
    package let version: Int32
    package let app: String
    package let name: String
    package let definition: String
}

extension SQL {
    /// Reads some of the campaigns that wait to be checked.
    package static let campaignDrafts = Statement<CampaignDraft>(
        "campaign_drafts",
        """
        SELECT c.id, c.version, a.name, c.name, c.draft::text
        FROM fanfare.campaigns AS c
        JOIN fanfare.apps AS a ON a.id = c.app_id
        WHERE c.draft IS NOT NULL AND c.reason IS NULL AND c.dropped_at IS NULL
        ORDER BY c.id
        LIMIT 100
        """,
        row: CampaignDraft.init
    )

    /// Puts a campaign that passed its checks into force.
    ///
    /// Whether the campaign is in force.
    ///
    /// Otherwise another version was stored meanwhile, or its schedule is never due and it was refused.
    ///
    /// Binds: id, version, cronFields, now.
    package static let takeCampaign = Statement<Bool, Int32, Int32, String?, Timestamp>(
        "take_campaign",
        "SELECT fanfare.take_campaign($1::int, $2::int, $3::jsonb, $4::timestamptz)"
    )

    /// Refuses a campaign's newest version; the version in force stays.
    ///
    /// Binds: id, version, reason.
    package static let refuseCampaign = Statement<Void, Int32, Int32, String>(
        "refuse_campaign",
        """
        UPDATE fanfare.campaigns AS c
        SET reason = left($3::text, 2000), state = CASE WHEN c.definition IS NULL THEN 'refused' ELSE c.state END
        WHERE c.id = $1::int AND c.version = $2::int AND c.draft IS NOT NULL
        """
    )
}
