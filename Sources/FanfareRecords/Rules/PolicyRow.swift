public import FanfareCore
package import PostgresClient

/// A stored policy of an app.
public struct PolicyRow: Sendable {
    /// The policy's app.
    public let app: String
    /// The JSON that `fanfare.put_policy` accepted.
    public let definition: JSONValue
}

extension SQL {
    /// Reads the policies, in the order of their apps.
    ///
    /// Binds: apps.
    package static let storedPolicies = Statement<PolicyRow, [String]?>(
        "stored_policies",
        """
        SELECT a.name, p.definition::text
        FROM fanfare.policies AS p JOIN fanfare.apps AS a ON a.id = p.app_id
        WHERE $1::text[] IS NULL OR a.name = ANY ($1)
        ORDER BY a.name
        """
    ) { row throws(PostgresError) in
        let definition = try row.string(1)
        return PolicyRow(app: try row.string(0), definition: (try? JSONValue(parsing: definition)) ?? .null)
    }
}
