/// The SQL of a rule's filters on what devices' users allow.
enum PermissionSQL {
    /// Returns the condition that a device `d` passes the filters of a rule version.
    ///
    /// For a rule without filters, the condition is two checks for null.
    ///
    /// - Parameter rule: the alias of the rule version, or of what has its columns.
    /// - Returns: the condition.
    static func passes(_ rule: String) -> String {
        passes(permissions: "\(rule).permissions", presents: "\(rule).presents")
    }

    /// The condition on devices `d` of a plan whose rule version is the CTE `v`, beginning with AND.
    static let ofPlan =
        " AND "
        + passes(permissions: "(SELECT v.permissions FROM v)::text[]", presents: "(SELECT v.presents FROM v)::text[]")

    private static func passes(permissions: String, presents: String) -> String {
        """
        (\(permissions) IS NULL OR coalesce(d.permission, 'unknown') = ANY (\(permissions)))
            AND (\(presents) IS NULL OR coalesce(d.presents, '{}') @> \(presents))
        """
    }
}
