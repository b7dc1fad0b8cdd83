package import PostgresClient

/// Rules and campaigns of a name, in any app and however it is capitalized.
package struct FindNamed: PostgresStatement {
    package static let name = "find_named"
    // Rules that campaigns become have a "/" in their names.
    package static let sql = """
        SELECT false, a.name, r.name FROM fanfare.rules AS r JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE lower(r.name) = lower($1) AND r.dropped_at IS NULL AND position('/' IN r.name) = 0
        UNION ALL
        SELECT true, a.name, c.name FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
        WHERE lower(c.name) = lower($1)
        ORDER BY 1, 2, 3 LIMIT 20
        """

    /// The whole name.
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// One of them.
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
