package import PostgresClient

/// A rule or a campaign.
package struct NamedRow: Sendable {
    package let isCampaign: Bool
    package let app: String
    package let name: String
}

extension SQL {
    /// Finds rules and campaigns whose name contains a text, in any app and ignoring case; exact matches come first.
    ///
    /// The rules of campaigns have a "/" in their names, and are not found.
    ///
    /// Binds: a part of the name.
    package static let findNamed = Statement<NamedRow, String>(
        "find_named",
        """
        SELECT false, a.name, r.name, lower(r.name) = lower($1) FROM fanfare.rules AS r JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE position(lower($1) IN lower(r.name)) > 0 AND r.dropped_at IS NULL AND position('/' IN r.name) = 0
        UNION ALL
        SELECT true, a.name, c.name, lower(c.name) = lower($1) FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
        WHERE position(lower($1) IN lower(c.name)) > 0 AND c.dropped_at IS NULL
        ORDER BY 4 DESC, 1, 2, 3 LIMIT 20
        """,
        row: NamedRow.init
    )
}
