public import FanfareCore
package import PostgresClient

/// A campaign as it is stored: what was put last, and what is in force.
public struct CampaignRow: Sendable {
    /// Its app.
    public let app: String
    /// Its name.
    public let name: String
    /// Of what was put last.
    public let version: Int32
    /// `unchecked`, `active`, `paused`, `refused` or `ended`.
    public let state: String
    /// Why what was put last is not in force, or why the rule that it became is refused.
    public let reason: String?
    /// Whether nobody has judged yet what was put last.
    public let isUnchecked: Bool
    /// Whether it came from a file, so that `--prune` may drop it.
    public let isFromFile: Bool
    /// What was put last, numbers as they were written.
    public let newest: JSONValue
    /// What is in force; nil if nothing is.
    public let inForce: JSONValue?
    /// When it is due next by itself; nil where it is not, also while it is paused.
    package let nextAt: Timestamp?
    /// What clocks in its time zone show then.
    package let nextWall: String?
    /// What it was due or started for last; nil if it never was.
    package let lastAt: Timestamp?
    /// What became of that.
    package let lastState: String?

    package var id: RuleID { RuleID(app: app, name: name) }
}

/// The campaigns there are.
package struct StoredCampaigns: PostgresStatement {
    package static let name = "stored_campaigns"
    package static let sql = """
        SELECT a.name, c.name, c.version, c.state, coalesce(c.reason, 'its rule: ' || v.reason), c.from_file,
            coalesce(c.draft, c.definition)::text, c.definition::text, n.at,
            to_char(fanfare.shown_at(n.at, c.time_zone), 'YYYY-MM-DD HH24:MI'), o.scheduled_at, o.state,
            c.draft IS NOT NULL AND c.reason IS NULL
        FROM fanfare.campaigns AS c
        JOIN fanfare.apps AS a ON a.id = c.app_id
        LEFT JOIN LATERAL (
            SELECT r.reason FROM fanfare.rule_versions AS r
            WHERE r.rule_id = c.rule_id ORDER BY r.version DESC LIMIT 1) AS v ON true
        LEFT JOIN LATERAL (
            SELECT x.scheduled_at, x.state FROM fanfare.runs AS x
            WHERE x.campaign_id = c.id AND x.test_users IS NULL ORDER BY x.scheduled_at DESC LIMIT 1) AS o ON true
        CROSS JOIN LATERAL (SELECT CASE WHEN c.state = 'active' THEN c.next_at END AS at) AS n
        WHERE c.dropped_at IS NULL AND ($1::text[] IS NULL OR a.name = ANY ($1)) AND ($2::text IS NULL OR c.name = $2)
        ORDER BY a.name, c.name
        """

    /// Of these apps; nil for all.
    package let apps: [String]?
    /// Those of this name; nil for all.
    package let name: String?

    package init(apps: [String]?, name: String? = nil) {
        self.apps = apps
        self.name = name
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(apps)
        binds.append(name)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> CampaignRow {
        let newest = try row.string(6)
        let inForce = try row.string(orNil: 7)
        return CampaignRow(
            app: try row.string(0),
            name: try row.string(1),
            version: try row.int32(2),
            state: try row.string(3),
            reason: try row.string(orNil: 4),
            isUnchecked: try row.bool(12),
            isFromFile: try row.bool(5),
            newest: (try? JSONValue(parsing: newest)) ?? .null,
            inForce: inForce.map { (try? JSONValue(parsing: $0)) ?? .null },
            nextAt: try row.timestamp(orNil: 8),
            nextWall: try row.string(orNil: 9),
            lastAt: try row.timestamp(orNil: 10),
            lastState: try row.string(orNil: 11)
        )
    }
}
