package import FanfareCore
package import PostgresClient

/// Returns the errors that `fanfare.put_rule` would raise for rules, in their order.
package struct RuleErrors: PostgresStatement {
    package static let name = "rule_errors"
    package static let sql = """
        SELECT f.place, f.reason, f.hint
        FROM unnest($1::text[]) WITH ORDINALITY AS r (rule, position)
        CROSS JOIN LATERAL fanfare.rule_error(r.rule::jsonb) AS f
        ORDER BY r.position
        """

    package let rules: [String]

    package init(rules: [String]) {
        self.rules = rules
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(rules)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RuleProblem? {
        guard let reason = try row.string(orNil: 1) else { return nil }
        return RuleProblem(path: try row.string(0), reason: reason, hint: try row.string(orNil: 2) ?? "")
    }
}

/// Calls `fanfare.put_rule` for each.
package struct PutRules: PostgresStatement {
    package static let name = "put_rules"
    package static let sql = "SELECT count(fanfare.put_rule(r.rule::jsonb)) FROM unnest($1::text[]) AS r (rule)"

    package let rules: [String]

    package init(rules: [String]) {
        self.rules = rules
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(rules)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Calls `fanfare.rule_from_file` for each.
package struct MarkRulesFromFile: PostgresStatement {
    package static let name = "mark_rules_from_file"
    package static let sql = """
        SELECT count(*) FILTER (WHERE fanfare.rule_from_file(r.app, r.name))
        FROM unnest($1::text[], $2::text[]) AS r (app, name)
        """

    package let ids: [RuleID]

    package init(ids: [RuleID]) {
        self.ids = ids
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ids.map(\.app))
        binds.append(ids.map(\.name))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Whether rules of these apps wait to be checked by a daemon.
package struct AreRulesUnchecked: PostgresStatement {
    package static let name = "are_rules_unchecked"
    package static let sql = """
        SELECT EXISTS (
            SELECT FROM fanfare.rule_versions AS v
            JOIN fanfare.rules AS r ON r.id = v.rule_id
            JOIN fanfare.apps AS a ON a.id = r.app_id
            WHERE v.state = 'unchecked' AND a.name = ANY ($1::text[]))
        """

    package let apps: [String]

    package init(apps: [String]) {
        self.apps = apps
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(apps)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Calls `fanfare.drop_rule`.
package struct DropRule: PostgresStatement {
    package static let name = "drop_rule"
    package static let sql = "SELECT fanfare.drop_rule($1, $2)"

    package let id: RuleID

    package init(id: RuleID) {
        self.id = id
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id.app)
        binds.append(id.name)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}

/// Whether a live daemon will check new rule versions.
package struct IsDaemonAlive: PostgresStatement {
    package static let name = "is_daemon_alive"
    package static let sql = "SELECT coalesce(bool_or(ok), false) FROM fanfare.health WHERE name = 'daemons'"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
