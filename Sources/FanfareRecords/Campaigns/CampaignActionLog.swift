package import PostgresClient

/// Reads the actions on a campaign by HTTP or in the console, the newest first.
package struct CampaignActionLog: PostgresStatement {
    package static let name = "campaign_action_log"
    // The action `campaign.start` appends its run to the target: "shop/sale: 7".
    package static let sql = """
        SELECT at, actor, action, reason FROM fanfare.actions
        WHERE action LIKE 'campaign.%'
            AND (target COLLATE "C" = $1 OR target COLLATE "C" >= $1 || ': ' AND target COLLATE "C" < $1 || ':!')
        ORDER BY id DESC LIMIT $2
        """

    /// The app and name: `shop/sale`.
    package let target: String
    package let limit: Int64

    package init(of target: String, limit: Int64) {
        (self.target, self.limit) = (target, limit)
    }

    /// One action.
    package struct Row: Sendable {
        package let at: Timestamp
        /// The token's name.
        package let actor: String
        /// The action, such as `campaign.pause`.
        package let action: String
        /// The reason that the actor gave.
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
