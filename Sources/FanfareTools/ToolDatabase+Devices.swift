internal import FanfareCore
internal import PostgresClient

/// What `register_device` takes.
public struct DeviceRegistration: Sendable {
    /// The app; created if it is new.
    public var app: String
    /// `apns`, `fcm` or `webpush`.
    public var platform: String
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
    /// Web Push: the subscription's secret.
    public var auth: String?
    /// The token that this one takes the place of.
    public var replaces: String?

    /// Describes a registration.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - platform: `apns`, `fcm` or `webpush`.
    ///   - token: the token.
    public init(app: String, platform: String, token: String) {
        self.app = app
        self.platform = platform
        self.token = token
    }
}

extension ToolDatabase {
    /// Registers a token, or renews its registration.
    ///
    /// - Parameter registration: what is known about it.
    /// - Returns: the device's id.
    /// - Throws: ``ToolError``; of kind `usage` for a platform that there is not.
    public func register(_ registration: DeviceRegistration) throws(ToolError) -> Int64 {
        try Self.check(platform: registration.platform)
        if let attributes = registration.attributes {
            _ = try ToolJSON.object(attributes, named: "--attributes")
        }
        let statement = RegisterDevice(registration: registration)
        return try run { connection throws(PostgresError) in try connection.run(statement).first ?? 0 }
    }

    /// Disables the device that holds a token.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - platform: `apns`, `fcm` or `webpush`.
    ///   - token: the token.
    /// - Returns: whether one was enabled.
    /// - Throws: ``ToolError``; of kind `usage` for a platform that there is not.
    public func unregister(app: String, platform: String, token: String) throws(ToolError) -> Bool {
        try Self.check(platform: platform)
        let statement = UnregisterDevice(app: app, platform: platform, token: token)
        return try run { connection throws(PostgresError) in try connection.run(statement).first ?? false }
    }

    /// Lists devices, the newest first.
    ///
    /// - Parameter filter: which.
    /// - Returns: the devices, without their topics.
    /// - Throws: ``ToolError``; of kind `usage` for a platform that there is not.
    public func devices(_ filter: DeviceFilter) throws(ToolError) -> [RegisteredDevice] {
        if let platform = filter.platform { try Self.check(platform: platform) }
        return try run { connection throws(PostgresError) in try connection.run(ListDevices(filter: filter)) }
    }

    /// Looks up one device with its topics.
    ///
    /// - Parameter id: its id.
    /// - Returns: the device.
    /// - Throws: ``ToolError``, also if there is none.
    public func device(_ id: Int64) throws(ToolError) -> RegisteredDevice {
        let found = try run { connection throws(PostgresError) in try connection.run(ShowDevice(id: id)).first }
        guard let found else {
            throw ToolError(.failed, "there is no device \(id)", hint: "`fanfare devices list` shows their ids.")
        }
        return found
    }

    /// Subscribes devices to a topic, or ends their subscriptions.
    ///
    /// - Parameters:
    ///   - ids: the devices.
    ///   - topic: the topic's name.
    ///   - isSubscribed: whether they shall be subscribed afterwards.
    /// - Returns: how many that changed.
    /// - Throws: ``ToolError``.
    public func setSubscribed(_ ids: [Int64], to topic: String, _ isSubscribed: Bool) throws(ToolError) -> Int64 {
        try run { connection throws(PostgresError) in
            isSubscribed
                ? try connection.run(SubscribeDevices(ids: ids, topic: topic)).first ?? 0
                : try connection.run(UnsubscribeDevices(ids: ids, topic: topic)).first ?? 0
        }
    }
}

extension ToolDatabase {
    /// Refuses what is no platform: nothing is ever found there, which must not look like an answer.
    private static func check(platform: String) throws(ToolError) {
        guard PushProvider(rawValue: platform) == nil else { return }
        let known = PushProvider.allCases.map(\.rawValue)
        let near = NearestName.suggestion(for: platform, among: known).map { "Did you mean \($0)? " } ?? ""
        throw ToolError(
            .usage,
            "“\(TextTable.printable(platform))” is no platform",
            hint: "\(near)Use one of \(known.joined(separator: ", "))."
        )
    }
}

/// Calls `fanfare.register_device`.
struct RegisterDevice: PostgresStatement {
    static let name = "register_device"
    static let sql = "SELECT fanfare.register_device($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12)"

    let registration: DeviceRegistration

    func bind(to binds: inout PostgresBinds) {
        binds.append(registration.app)
        binds.append(registration.platform)
        binds.append(registration.token)
        binds.append(registration.userID)
        binds.append(registration.kind)
        binds.append(registration.environment)
        binds.append(registration.locale)
        binds.append(registration.timeZone)
        binds.append(registration.attributes)
        binds.append(registration.p256dh)
        binds.append(registration.auth)
        binds.append(registration.replaces)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Calls `fanfare.unregister_device`.
struct UnregisterDevice: PostgresStatement {
    static let name = "unregister_device"
    static let sql = "SELECT fanfare.unregister_device($1, $2, $3)"

    let app: String
    let platform: String
    let token: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(platform)
        binds.append(token)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Calls `fanfare.subscribe`.
struct SubscribeDevices: PostgresStatement {
    static let name = "subscribe_devices"
    static let sql = "SELECT fanfare.subscribe($1::bigint[], $2)"

    let ids: [Int64]
    let topic: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(ids)
        binds.append(topic)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Calls `fanfare.unsubscribe`.
struct UnsubscribeDevices: PostgresStatement {
    static let name = "unsubscribe_devices"
    static let sql = "SELECT fanfare.unsubscribe($1::bigint[], $2)"

    let ids: [Int64]
    let topic: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(ids)
        binds.append(topic)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}
