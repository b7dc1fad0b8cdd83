/// Selects the pruned devices to re-enable.
public struct RestoreRequest: Sendable {
    /// The app.
    public let app: String
    /// Only devices pruned since this time.
    public let since: Since
    /// Only devices pruned before this time, as PostgreSQL reads it; nil for no limit.
    public let until: String?
    /// Only devices pruned for this reason, such as `BadDeviceToken`; nil for all.
    public let reason: String?
    /// Only devices of this environment; nil for both.
    public let environment: String?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - since: the start of the time range.
    ///   - until: the end of the time range; nil for none.
    ///   - reason: the provider's reason; nil for all.
    ///   - environment: `production` or `sandbox`; nil for both.
    public init(app: String, since: Since, until: String? = nil, reason: String?, environment: String?) {
        self.app = app
        self.since = since
        self.until = until
        self.reason = reason
        self.environment = environment
    }
}
