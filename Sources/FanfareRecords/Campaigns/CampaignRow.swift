public import FanfareCore
package import PostgresClient

/// A stored campaign: its newest version, and the version in force.
public struct CampaignRow: Sendable {
    /// The campaign's app.
    public let app: String
    /// The campaign's name.
    public let name: String
    /// The newest version's number.
    public let version: Int32
    /// `unchecked`, `active`, `paused`, `refused` or `ended`.
    public let state: String
    /// Why the newest version is not in force, or why the campaign's rule is refused.
    public let reason: String?
    /// Whether no daemon has checked the newest version yet.
    public let isUnchecked: Bool
    /// Whether it came from a file, so that `--prune` may drop it.
    public let isFromFile: Bool
    /// The newest version, with numbers as they were written.
    public let newest: JSONValue
    /// The version in force; nil if there is none.
    public let inForce: JSONValue?
    /// When its schedule is next due; nil if it is not, or while it is paused.
    package let nextAt: Timestamp?
    /// The wall time in its time zone then.
    package let nextWall: String?
    /// The scheduled time of the last run; nil if there was none.
    package let lastAt: Timestamp?
    /// The state of the last run.
    package let lastState: String?

    package var id: RuleID { RuleID(app: app, name: name) }
}

extension SQL {
    /// Reads the stored campaigns.
    ///
    /// Binds: apps, name.
    package static let storedCampaigns = Statement<CampaignRow, [String]?, String?>(
        "stored_campaigns",
        """
        SELECT a.name, c.name, c.version, c.state, coalesce(c.reason, 'its rule: ' || v.reason), c.from_file,
            coalesce(c.draft, c.definition)::text, c.definition::text, n.at,
            to_char(fanfare.shown_at(n.at, c.time_zone), 'YYYY-MM-DD HH24:MI'), o.scheduled_at, o.state,
            c.draft IS NOT NULL AND c.reason IS NULL
        FROM fanfare.campaigns AS c
        JOIN fanfare.apps AS a ON a.id = c.app_id
        LEFT JOIN LATERAL (
            SELECT r.reason FROM fanfare.rule_versions AS r
            WHERE r.rule_id = c.rule_id AND r.winner_of IS NULL ORDER BY r.version DESC LIMIT 1) AS v ON true
        LEFT JOIN LATERAL (
            SELECT x.scheduled_at, x.state FROM fanfare.runs AS x
            WHERE x.campaign_id = c.id AND x.test_users IS NULL ORDER BY x.scheduled_at DESC LIMIT 1) AS o ON true
        CROSS JOIN LATERAL (SELECT CASE WHEN c.state = 'active' THEN c.next_at END AS at) AS n
        WHERE c.dropped_at IS NULL AND ($1::text[] IS NULL OR a.name = ANY ($1)) AND ($2::text IS NULL OR c.name = $2)
        ORDER BY a.name, c.name
        """
    ) { row throws(PostgresError) in
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
