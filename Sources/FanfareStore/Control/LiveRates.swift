package import PostgresClient

/// A rate for all of an app's pushes, or for those of one provider.
package struct AppRate: Hashable, Sendable {
    package let id: Int32
    package let app: String
    /// The provider; nil for all.
    package let provider: String?

    package init(id: Int32, app: String, provider: String? = nil) {
        self.id = id
        self.app = app
        self.provider = provider
    }
}

/// Reads the rates of apps and their providers; those of rules belong to their gates (``LiveGates``).
package struct LiveRates: PostgresStatement {
    package static let name = "live_rates"
    package static let sql = """
        SELECT r.id, a.name, r.provider
        FROM fanfare.rates AS r JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE r.app_id IS NOT NULL
        ORDER BY r.id
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> AppRate {
        AppRate(id: try row.int32(0), app: try row.string(1), provider: try row.string(orNil: 2))
    }
}
