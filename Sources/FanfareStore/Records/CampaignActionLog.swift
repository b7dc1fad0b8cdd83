package import PostgresClient

/// What was done to a campaign by HTTP or in the console, the newest first.
package struct CampaignActionLog: PostgresStatement {
    package static let name = "campaign_action_log"
    // A start names its run behind the campaign: "shop/sale: 7".
    package static let sql = """
        SELECT at, actor, action, reason FROM fanfare.actions
        WHERE action LIKE 'campaign.%'
            AND (target COLLATE "C" = $1 OR target COLLATE "C" >= $1 || ': ' AND target COLLATE "C" < $1 || ':!')
        ORDER BY id DESC LIMIT $2
        """

    /// App and name: `shop/sale`.
    package let target: String
    package let limit: Int64

    package init(of target: String, limit: Int64) {
        (self.target, self.limit) = (target, limit)
    }

    /// One of them.
    package struct Row: Sendable {
        package let at: Timestamp
        /// The token's name.
        package let actor: String
        /// As `campaign.pause`.
        package let action: String
        /// In the words of who did it.
        package let reason: String?
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(target)
        binds.append(limit)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            at: try row.timestamp(0),
            actor: try row.string(1),
            action: try row.string(2),
            reason: try row.string(orNil: 3)
        )
    }
}
