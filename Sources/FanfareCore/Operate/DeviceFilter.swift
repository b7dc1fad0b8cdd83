/// Selects the devices to list.
public struct DeviceFilter: Sendable {
    /// Only devices of this app.
    public var app: String?
    /// Only devices of this user.
    public var user: String?
    /// Only devices of this provider.
    public var provider: String?
    /// Only devices subscribed to this topic.
    public var topic: String?
    /// Only disabled or only enabled devices; nil for both.
    public var isDisabled: Bool?
    /// Only devices with a smaller id.
    public var before: Int64?
    /// The maximum number of devices; the newest come first.
    public var limit: Int64 = 100

    /// Makes a filter that selects all devices.
    public init() {}
}

/// Selects devices of an app at FCM.
public struct FCMDeviceFilter: Sendable {
    /// The app.
    public var app: String
    /// Only subscribers of this topic of Fanfare; nil for all devices.
    public var topic: String?
    /// Only devices of these users; nil for all.
    public var users: [String]?

    /// Makes a filter for all devices of an app.
    ///
    /// - Parameter app: the app.
    public init(app: String) {
        self.app = app
    }
}
