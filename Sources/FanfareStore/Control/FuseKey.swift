internal import FanfareCore
internal import PostgresClient

/// The scope of a prune fuse: an app's devices in one environment.
package struct FuseKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let app: String
    package let environment: String

    package init(app: String, environment: String) {
        self.app = app
        self.environment = environment
    }

    /// `shop/production`.
    package var description: String { "\(app)/\(environment)" }

    package static func < (left: FuseKey, right: FuseKey) -> Bool { left.description < right.description }
}

/// The scope in which responses are counted: one provider, for an app's devices in one environment.
package struct AnswerSource: Hashable, Sendable {
    package let key: FuseKey
    package let provider: String

    package init(key: FuseKey, provider: String) {
        self.key = key
        self.provider = provider
    }
}
