package import PostgresClient

/// Finds rules and campaigns whose name contains a text, in any app and ignoring case; exact matches come first.
package struct FindNamed: PostgresStatement {
    package static let name = "find_named"
    // The rules of campaigns have a "/" in their names.
    package static let sql = """
        SELECT false, a.name, r.name, lower(r.name) = lower($1) FROM fanfare.rules AS r JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE position(lower($1) IN lower(r.name)) > 0 AND r.dropped_at IS NULL AND position('/' IN r.name) = 0
        UNION ALL
        SELECT true, a.name, c.name, lower(c.name) = lower($1) FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
        WHERE position(lower($1) IN lower(c.name)) > 0 AND c.dropped_at IS NULL
        ORDER BY 4 DESC, 1, 2, 3 LIMIT 20
        """

    /// A part of the name.
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// A rule or a campaign.
    package struct Row: Sendable {
        package let isCampaign: Bool
        package let app: String
        package let name: String
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(text)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(isCampaign: try row.bool(0), app: try row.string(1), name: try row.string(2))
    }
}
