public import FanfareCore
internal import PostgresClient

/// A rule as it is stored: its newest version.
public struct RuleRow: Sendable {
    /// Its app.
    public let app: String
    /// Its name.
    public let name: String
    /// Its newest version.
    public let version: Int32
    /// `unchecked`, `active` or `refused`.
    public let state: String
    /// Why the newest version is refused.
    public let reason: String?
    /// The version that events go by; nil if none.
    public let versionInForce: Int32?
    /// Whether it came from a file, so that `--prune` may drop it.
    public let isFromFile: Bool
    /// Its JSON, numbers as they were written; null if what is stored is none.
    public let definition: JSONValue

    var id: RuleID { RuleID(app: app, name: name) }

    /// The event type it applies to; empty if it names none.
    public var event: String { definition["event"]?.stringValue ?? "" }

    /// The definition in the form in which two can be compared: without defaults.
    var canonical: JSONValue {
        (try? RuleDefinition(json: definition).json) ?? definition
    }

    /// All of it as JSON.
    public var json: JSONValue {
        [
            "app": .string(app), "name": .string(name), "event": .string(event), "version": JSONValue(Int64(version)),
            "state": .string(state), "reason": JSONValue(orNull: reason),
            "version_in_force": JSONValue(orNull: versionInForce.map(Int64.init)), "from_file": .bool(isFromFile),
            "definition": definition,
        ]
    }

    /// Rules as a table.
    ///
    /// - Parameter rules: the rows.
    /// - Returns: the text.
    public static func table(_ rules: [RuleRow]) -> String {
        var table = TextTable(["app", "name", "event", "version", "in force", "state", "reason"])
        for rule in rules {
            table.append([
                rule.app, rule.name, rule.event, "\(rule.version)", rule.versionInForce.map { "\($0)" } ?? "-",
                rule.state,
                rule.reason ?? "-",
            ])
        }
        return table.text
    }
}

/// The rules there are, each with its newest version.
struct StoredRules: PostgresStatement {
    static let name = "stored_rules"
    static let sql = """
        SELECT a.name, r.name, v.version, v.state, v.reason, v.definition::text, r.from_file,
            (SELECT max(f.version) FROM fanfare.rule_versions AS f
             WHERE f.rule_id = r.id AND f.state = 'active' AND f.retired_at IS NULL)
        FROM fanfare.rules AS r
        JOIN fanfare.apps AS a ON a.id = r.app_id
        CROSS JOIN LATERAL (
            SELECT * FROM fanfare.rule_versions AS n WHERE n.rule_id = r.id ORDER BY n.version DESC LIMIT 1) AS v
        WHERE r.dropped_at IS NULL AND ($1::text[] IS NULL OR a.name = ANY ($1))
        ORDER BY a.name, r.name
        """

    /// Of these apps; nil for all.
    let apps: [String]?

    func bind(to binds: inout PostgresBinds) {
        binds.append(apps)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RuleRow {
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

/// What `fanfare.put_rule` would refuse rules for, in their order.
struct RuleFaults: PostgresStatement {
    static let name = "rule_faults"
    static let sql = """
        SELECT f.place, f.reason, f.hint
        FROM unnest($1::text[]) WITH ORDINALITY AS r (rule, position)
        CROSS JOIN LATERAL fanfare.rule_fault(r.rule::jsonb) AS f
        ORDER BY r.position
        """

    let rules: [String]

    func bind(to binds: inout PostgresBinds) {
        binds.append(rules)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RuleProblem? {
        guard let reason = try row.string(orNil: 1) else { return nil }
        return RuleProblem(path: try row.string(0), reason: reason, hint: try row.string(orNil: 2) ?? "")
    }
}

/// Calls `fanfare.put_rule` for each.
struct PutRules: PostgresStatement {
    static let name = "put_rules"
    static let sql = "SELECT count(fanfare.put_rule(r.rule::jsonb)) FROM unnest($1::text[]) AS r (rule)"

    let rules: [String]

    func bind(to binds: inout PostgresBinds) {
        binds.append(rules)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Calls `fanfare.rule_from_file` for each.
struct MarkRulesFromFile: PostgresStatement {
    static let name = "mark_rules_from_file"
    static let sql = """
        SELECT count(*) FILTER (WHERE fanfare.rule_from_file(r.app, r.name))
        FROM unnest($1::text[], $2::text[]) AS r (app, name)
        """

    let ids: [RuleID]

    func bind(to binds: inout PostgresBinds) {
        binds.append(ids.map(\.app))
        binds.append(ids.map(\.name))
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Whether rules of these apps wait for a daemon's judgement.
struct AreRulesUnchecked: PostgresStatement {
    static let name = "are_rules_unchecked"
    static let sql = """
        SELECT EXISTS (
            SELECT FROM fanfare.rule_versions AS v
            JOIN fanfare.rules AS r ON r.id = v.rule_id
            JOIN fanfare.apps AS a ON a.id = r.app_id
            WHERE v.state = 'unchecked' AND a.name = ANY ($1::text[]))
        """

    let apps: [String]

    func bind(to binds: inout PostgresBinds) {
        binds.append(apps)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Calls `fanfare.drop_rule`.
struct DropRule: PostgresStatement {
    static let name = "drop_rule"
    static let sql = "SELECT fanfare.drop_rule($1, $2)"

    let id: RuleID

    func bind(to binds: inout PostgresBinds) {
        binds.append(id.app)
        binds.append(id.name)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Whether a daemon lives that will check new rule versions.
struct IsDaemonAlive: PostgresStatement {
    static let name = "is_daemon_alive"
    static let sql = "SELECT coalesce(bool_or(ok), false) FROM fanfare.health WHERE name = 'daemons'"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
