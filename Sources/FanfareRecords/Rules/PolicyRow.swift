public import FanfareCore
package import PostgresClient

/// A stored policy of an app.
public struct PolicyRow: Sendable {
    /// The policy's app.
    public let app: String
    /// The JSON that `fanfare.put_policy` accepted.
    public let definition: JSONValue
}

/// Reads the policies, in the order of their apps.
package struct StoredPolicies: PostgresStatement {
    package static let name = "stored_policies"
    package static let sql = """
        SELECT a.name, p.definition::text
        FROM fanfare.policies AS p JOIN fanfare.apps AS a ON a.id = p.app_id
        WHERE $1::text[] IS NULL OR a.name = ANY ($1)
        ORDER BY a.name
        """

    /// The apps; nil for all.
    package let apps: [String]?

    package init(apps: [String]?) {
        self.apps = apps
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(apps)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PolicyRow {
        let definition = try row.string(1)
        return PolicyRow(app: try row.string(0), definition: (try? JSONValue(parsing: definition)) ?? .null)
    }
}
