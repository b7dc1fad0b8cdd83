/// Which pruned devices to enable again.
public struct RestoreRequest: Sendable {
    /// Of this app only.
    public let app: String
    /// Pruned since then.
    public let since: Since
    /// Pruned before then only, a time as PostgreSQL reads it; nil for no end.
    public let until: String?
    /// Pruned for this reason only, such as `BadDeviceToken`; nil for all.
    public let reason: String?
    /// Of this environment only; nil for both.
    public let environment: String?

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - since: from when on.
    ///   - until: before when; nil for no end.
    ///   - reason: the provider's word; nil for all.
    ///   - environment: `production` or `sandbox`; nil for both.
    public init(app: String, since: Since, until: String? = nil, reason: String?, environment: String?) {
        self.app = app
        self.since = since
        self.until = until
        self.reason = reason
        self.environment = environment
    }
}
