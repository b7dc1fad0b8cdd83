package import FanfareCore
package import PostgresClient

extension SQL {
    /// Returns the errors that `fanfare.put_policy` would raise for policies, in their order; places are those in a file.
    ///
    /// Binds: policies.
    package static let policyErrors = Statement<RuleProblem?, [String]>(
        "policy_errors",
        """
        SELECT CASE WHEN f.place = 'policy' THEN f.place ELSE 'policy.' || f.place END, f.reason, f.hint
        FROM unnest($1::text[]) WITH ORDINALITY AS r (policy, position)
        CROSS JOIN LATERAL fanfare.policy_error(r.policy::jsonb) AS f
        ORDER BY r.position
        """
    ) { row throws(PostgresError) in
        guard let reason = try row.string(orNil: 1) else { return nil }
        return RuleProblem(path: try row.string(0), reason: reason, hint: try row.string(orNil: 2) ?? "")
    }

    /// Calls `fanfare.put_policy` for each, in the order of the apps' names, so that two concurrent calls cannot deadlock.
    ///
    /// Binds: apps, policies.
    package static let putPolicies = Statement<Void, [String], [String]>(
        "put_policies",
        """
        SELECT count(*) FROM (
            SELECT * FROM unnest($1::text[], $2::text[]) AS r (app, policy) ORDER BY r.app
        ) AS r
        CROSS JOIN LATERAL (SELECT fanfare.put_policy(r.app, r.policy::jsonb) OFFSET 0) AS p
        """
    )
}
