internal import FanfareConsoleView
internal import FanfareRecords
internal import PostgresClient

/// One device.
struct DeviceLine: ViewContext {
    let id: String
    let href: String
    let app: String
    let provider: String
    let environment: String
    let user: PageLink?
    let badge: Badge
    /// The reason why it is disabled.
    let reason: String?
    /// The permission of an enabled device, if its phone shows pushes quietly or not at all.
    let permission: String?
    /// Locale and time zone, such as `es-MX · America/Mexico_City`.
    let locale: String
    let registered: Moment
    /// The time at which it was disabled.
    let disabled: Moment?
    let lastPush: Moment?
    /// A short hash of the token; never the token.
    let token: String
}

extension DeviceLine {
    /// Shows a device.
    ///
    /// - Parameters:
    ///   - device: the device.
    ///   - lastPush: the time of the last answer for this device; nil if it was not read, or there is none.
    init(_ device: RegisteredDevice, lastPush: Moment? = nil) {
        self.init(
            id: "\(device.id)",
            href: Self.href(device.id),
            app: device.app,
            provider: device.provider,
            environment: device.environment,
            user: device.userID.map {
                PageLink(name: $0, href: PageAddress("/people", ["app": device.app, "user": $0]).text)
            },
            badge: Self.badge(device),
            reason: device.disabledReason,
            permission: device.disabledAt == nil && device.permission != "authorized" ? device.permission : nil,
            locale: [device.locale, device.timeZone].compactMap(\.self).joined(separator: " · "),
            registered: Moment(device.registeredAt.microseconds, .short),
            disabled: device.disabledAt.map { Moment($0.microseconds, .short) },
            lastPush: lastPush,
            token: device.tokenHash
        )
    }

    /// Returns the path of a device's page.
    ///
    /// - Parameter id: the device's.
    /// - Returns: the path.
    static func href(_ id: Int64) -> String { "/devices/\(id)" }

    /// Returns the badge of a device's state.
    ///
    /// - Parameter device: the device.
    /// - Returns: the badge.
    static func badge(_ device: RegisteredDevice) -> Badge {
        device.disabledAt == nil ? Badge(.good, "enabled") : Badge(.quiet, "disabled")
    }
}
