/// The arguments of `register_device`.
public struct DeviceRegistration: Sendable {
    /// The app; created if it does not exist.
    public var app: String
    /// The provider's name, such as `apns`.
    public var provider: String
    /// The token, as the phone or browser got it.
    public var token: String
    /// The user, if any.
    public var userID: String?
    /// The kind of token.
    public var kind = "device"
    /// `production` or `sandbox`.
    public var environment = "production"
    /// A language tag.
    public var locale: String?
    /// A time zone's name.
    public var timeZone: String?
    /// What rules select devices by.
    public var attributes: JSONObject?
    /// Web Push: the subscription's key.
    public var p256dh: String?
    /// Web Push: the subscription's secret; a webhook's signing secret.
    public var auth: String?
    /// The old token that this one replaces.
    public var replaces: String?
    /// What the token is: `token` or `fid`, a Firebase installation id; nil for what it was, or for a new one a token.
    public var address: String?
    /// What the phone's user allows: `authorized`, `provisional` or `denied`; nil for what it was.
    public var permission: String?
    /// Which of alert, badge and sound are on; nil for what it was.
    public var presents: [String]?

    /// Makes a registration with defaults.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - provider: the provider's name, such as `apns`.
    ///   - token: the token.
    public init(app: String, provider: String, token: String) {
        self.app = app
        self.provider = provider
        self.token = token
    }
}
