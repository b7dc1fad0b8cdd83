package import PostgresClient

/// An action on a campaign.
package struct CampaignAction: Sendable {
    package let at: Timestamp
    /// The token's name.
    package let actor: String
    /// The action, such as `campaign.pause`.
    package let action: String
    /// The reason that the actor gave.
    package let reason: String?
}

extension SQL {
    /// Reads the actions on a campaign by HTTP or in the console, the newest first.
    ///
    /// The action `campaign.start` appends its run to the target: "shop/sale: 7".
    ///
    /// Binds: the app and name as in `shop/sale`, limit.
    package static let campaignActionLog = Statement<CampaignAction, String, Int64>(
        "campaign_action_log",
        """
        SELECT at, actor, action, reason FROM fanfare.actions
        WHERE action LIKE 'campaign.%'
            AND (target COLLATE "C" = $1 OR target COLLATE "C" >= $1 || ': ' AND target COLLATE "C" < $1 || ':!')
        ORDER BY id DESC LIMIT $2
        """,
        row: CampaignAction.init
    )
}
