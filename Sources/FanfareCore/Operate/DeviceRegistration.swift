/// What `register_device` takes.
public struct DeviceRegistration: Sendable {
    /// The app; created if it is new.
    public var app: String
    /// A provider's name, such as `apns`.
    public var provider: String
    /// The token, as the app got it.
    public var token: String
    /// Its user.
    public var userID: String?
    /// What the token is for.
    public var kind = "device"
    /// `production` or `sandbox`.
    public var environment = "production"
    /// A language tag.
    public var locale: String?
    /// A time zone's name.
    public var timeZone: String?
    /// A JSON object as text.
    public var attributes: String?
    /// Web Push: the subscription's key.
    public var p256dh: String?
    /// Web Push: the subscription's secret; a webhook's signing secret.
    public var auth: String?
    /// The token that this one takes the place of.
    public var replaces: String?

    /// Describes a registration.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - provider: a provider's name, such as `apns`.
    ///   - token: the token.
    public init(app: String, provider: String, token: String) {
        self.app = app
        self.provider = provider
        self.token = token
    }
}
