package import PostgresClient

/// A rate of all of an app's pushes, or of those by one provider.
package struct AppRate: Hashable, Sendable {
    package let id: Int32
    package let app: String
    /// Nil for all providers.
    package let provider: String?

    package init(id: Int32, app: String, provider: String? = nil) {
        self.id = id
        self.app = app
        self.provider = provider
    }
}

/// The rates of apps and their providers; those of rules stand with their gates (``LiveGates``).
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
