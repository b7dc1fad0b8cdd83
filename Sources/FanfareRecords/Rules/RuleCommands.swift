package import FanfareCore
package import PostgresClient

extension SQL {
    /// Returns the errors that `fanfare.put_rule` would raise for rules, in their order.
    ///
    /// Binds: rules.
    package static let ruleErrors = Statement<RuleProblem?, [String]>(
        "rule_errors",
        """
        SELECT f.place, f.reason, f.hint
        FROM unnest($1::text[]) WITH ORDINALITY AS r (rule, position)
        CROSS JOIN LATERAL fanfare.rule_error(r.rule::jsonb) AS f
        ORDER BY r.position
        """
    ) { row throws(PostgresError) in
        guard let reason = try row.string(orNil: 1) else { return nil }
        return RuleProblem(path: try row.string(0), reason: reason, hint: try row.string(orNil: 2) ?? "")
    }

    /// Calls `fanfare.put_rule` for each.
    ///
    /// Binds: rules.
    package static let putRules = Statement<Void, [String]>(
        "put_rules",
        "SELECT count(fanfare.put_rule(r.rule::jsonb)) FROM unnest($1::text[]) AS r (rule)"
    )

    /// Calls `fanfare.rule_from_file` for each.
    ///
    /// Binds: apps, names.
    package static let markRulesFromFile = Statement<Void, [String], [String]>(
        "mark_rules_from_file",
        """
        SELECT count(*) FILTER (WHERE fanfare.rule_from_file(r.app, r.name))
        FROM unnest($1::text[], $2::text[]) AS r (app, name)
        """
    )

    /// Whether rules of these apps wait to be checked by a daemon.
    ///
    /// Binds: apps.
    package static let areRulesUnchecked = Statement<Bool, [String]>(
        "are_rules_unchecked",
        """
        SELECT EXISTS (
            SELECT FROM fanfare.rule_versions AS v
            JOIN fanfare.rules AS r ON r.id = v.rule_id
            JOIN fanfare.apps AS a ON a.id = r.app_id
            WHERE v.state = 'unchecked' AND a.name = ANY ($1::text[]))
        """
    )

    /// Calls `fanfare.drop_rule`.
    ///
    /// Binds: app, name.
    package static let dropRule = Statement<Void, String, String>(
        "drop_rule",
        "SELECT fanfare.drop_rule($1, $2)"
    )

    /// Whether a live daemon will check new rule versions.
    package static let isDaemonAlive = Statement<Bool>(
        "is_daemon_alive",
        "SELECT coalesce(bool_or(ok), false) FROM fanfare.health WHERE name = 'daemons'"
    )
}
