internal import FanfareCore
package import PostgresClient

/// A target: an app's provider in one environment, for its devices or for one kind of audience that the provider
/// manages.
package struct Target: Hashable, Sendable {
    package let id: Int16
    package let app: String
    package let provider: String
    package let environment: String
    /// The key of `to` (`fcm_topic`, `fcm_condition`, `channel`) if the provider manages the audience; its deliveries
    /// have no device.
    package var nativeKey: String?

    package init(id: Int16, app: String, provider: String, environment: String, nativeKey: String? = nil) {
        self.id = id
        self.app = app
        self.provider = provider
        self.environment = environment
        self.nativeKey = nativeKey
    }
}

extension SQL {
    /// Reads all targets.
    package static let allTargets = Statement<Target>(
        "all_targets",
        """
        SELECT t.id, a.name, t.provider, t.environment, t.native_key
        FROM fanfare.targets AS t JOIN fanfare.apps AS a ON a.id = t.app_id
        """
    ) { row throws(PostgresError) in
        Target(
            id: try row.int16(0),
            app: try row.string(1),
            provider: try row.string(2),
            environment: try row.string(3),
            nativeKey: try row.string(orNil: 4)
        )
    }
}
