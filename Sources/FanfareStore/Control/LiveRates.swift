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

extension SQL {
    /// Reads the rates of apps and their providers; those of rules belong to their gates (``LiveGates``).
    package static let liveRates = Statement<AppRate>(
        "live_rates",
        """
        SELECT r.id, a.name, r.provider
        FROM fanfare.rates AS r JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE r.app_id IS NOT NULL
        ORDER BY r.id
        """,
        row: AppRate.init
    )
}
