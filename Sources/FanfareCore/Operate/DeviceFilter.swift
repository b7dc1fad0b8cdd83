/// Which devices to list.
public struct DeviceFilter: Sendable {
    /// Of this app only.
    public var app: String?
    /// Of this user only.
    public var user: String?
    /// Of this provider only.
    public var provider: String?
    /// Subscribed to this topic only.
    public var topic: String?
    /// Disabled ones only, or enabled ones only; nil for both.
    public var isDisabled: Bool?
    /// Older than this one only.
    public var before: Int64?
    /// The newest so many.
    public var limit: Int64 = 100

    /// Makes a filter that lets everything pass.
    public init() {}
}

/// Which of an app's devices at FCM are meant.
public struct FCMDeviceFilter: Sendable {
    /// The app.
    public var app: String
    /// Subscribers of this topic of Fanfare's; nil for all.
    public var topic: String?
    /// Devices of these users; nil for all.
    public var users: [String]?

    /// All of an app's devices.
    ///
    /// - Parameter app: the app.
    public init(app: String) {
        self.app = app
    }
}
