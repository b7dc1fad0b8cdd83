package import FanfareCore
package import PostgresClient

/// Returns the errors that `fanfare.put_policy` would raise for policies, in their order; places are those in a file.
package struct PolicyErrors: PostgresStatement {
    package static let name = "policy_errors"
    package static let sql = """
        SELECT CASE WHEN f.place = 'policy' THEN f.place ELSE 'policy.' || f.place END, f.reason, f.hint
        FROM unnest($1::text[]) WITH ORDINALITY AS r (policy, position)
        CROSS JOIN LATERAL fanfare.policy_error(r.policy::jsonb) AS f
        ORDER BY r.position
        """

    package let policies: [String]

    package init(policies: [String]) {
        self.policies = policies
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(policies)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RuleProblem? {
        guard let reason = try row.string(orNil: 1) else { return nil }
        return RuleProblem(path: try row.string(0), reason: reason, hint: try row.string(orNil: 2) ?? "")
    }
}

/// Calls `fanfare.put_policy` for each, in the order of the apps' names, so that two concurrent calls cannot deadlock.
package struct PutPolicies: PostgresStatement {
    package static let name = "put_policies"
    package static let sql = """
        SELECT count(*) FROM (
            SELECT * FROM unnest($1::text[], $2::text[]) AS r (app, policy) ORDER BY r.app
        ) AS r
        CROSS JOIN LATERAL (SELECT fanfare.put_policy(r.app, r.policy::jsonb) OFFSET 0) AS p
        """

    package let apps: [String]
    package let policies: [String]

    /// Creates the statement.
    ///
    /// - Parameters:
    ///   - apps: the app of each policy.
    ///   - policies: the policies' JSON.
    package init(apps: [String], policies: [String]) {
        self.apps = apps
        self.policies = policies
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(apps)
        binds.append(policies)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}
