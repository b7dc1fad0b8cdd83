public import FanfareCore
package import PostgresClient

/// A stored rule with its newest version.
public struct RuleRow: Sendable {
    /// The rule's app.
    public let app: String
    /// The rule's name.
    public let name: String
    /// The newest version's number.
    public let version: Int32
    /// `unchecked`, `active` or `refused`.
    public let state: String
    /// Why the newest version is refused.
    public let reason: String?
    /// The version that applies to events; nil if there is none.
    public let versionInForce: Int32?
    /// Whether it came from a file, so that `--prune` may drop it.
    public let isFromFile: Bool
    /// The rule's JSON, with numbers as they were written; null if the stored text is not valid.
    public let definition: JSONValue

    package var id: RuleID { RuleID(app: app, name: name) }

    /// The event type that it applies to; empty if it names none.
    public var event: String { definition["event"]?.stringValue ?? "" }

    /// The definition without defaults, in a form that can be compared.
    package var canonical: JSONValue {
        (try? RuleDefinition(json: definition).json) ?? definition
    }
}

extension SQL {
    /// Reads the rules, each with its newest version, without the rules that gather events and those of messages.
    ///
    /// Binds: apps.
    package static let storedRules = Statement<RuleRow, [String]?>(
        "stored_rules",
        """
        SELECT a.name, r.name, v.version, CASE WHEN b.is_beyond THEN 'refused' ELSE v.state END,
            CASE WHEN b.is_beyond THEN format('event: rules of %s may not take it (apps.%s.events)', a.name, a.name) ELSE v.reason END,
            v.definition::text, r.from_file,
            (SELECT max(f.version) FROM fanfare.rule_versions AS f
             WHERE f.rule_id = r.id AND f.state = 'active' AND f.retired_at IS NULL AND fanfare.may_take(a.name, f.definition ->> 'event'))
        FROM fanfare.rules AS r
        JOIN fanfare.apps AS a ON a.id = r.app_id
        CROSS JOIN LATERAL (
            SELECT * FROM fanfare.rule_versions AS n WHERE n.rule_id = r.id AND n.winner_of IS NULL ORDER BY n.version DESC LIMIT 1) AS v
        CROSS JOIN LATERAL (SELECT v.state = 'active' AND NOT fanfare.may_take(a.name, v.definition ->> 'event') AS is_beyond) AS b
        WHERE r.dropped_at IS NULL AND r.name NOT LIKE ALL ('{gather/%,send/%}') AND ($1::text[] IS NULL OR a.name = ANY ($1))
        ORDER BY a.name, r.name
        """
    ) { row throws(PostgresError) in
        let definition = try row.string(5)
        return RuleRow(
            app: try row.string(0),
            name: try row.string(1),
            version: try row.int32(2),
            state: try row.string(3),
            reason: try row.string(orNil: 4),
            versionInForce: try row.int32(orNil: 7),
            isFromFile: try row.bool(6),
            definition: (try? JSONValue(parsing: definition)) ?? .null
        )
    }
}
