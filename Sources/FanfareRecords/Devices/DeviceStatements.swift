package import FanfareCore
package import PostgresClient

/// Calls `fanfare.register_device`.
package struct RegisterDevice: PostgresStatement {
    package static let name = "register_device"
    package static let sql = "SELECT fanfare.register_device($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12)"

    package let registration: DeviceRegistration

    package init(registration: DeviceRegistration) {
        self.registration = registration
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(registration.app)
        binds.append(registration.provider)
        binds.append(registration.token)
        binds.append(registration.userID)
        binds.append(registration.kind)
        binds.append(registration.environment)
        binds.append(registration.locale)
        binds.append(registration.timeZone)
        binds.append(registration.attributes.map { JSONValue.object($0).text })
        binds.append(registration.p256dh)
        binds.append(registration.auth)
        binds.append(registration.replaces)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

extension SQL {
    /// Calls `fanfare.unregister_device`.
    ///
    /// Binds: app, provider, token.
    package static let unregisterDevice = Statement<Bool, String, String, String>(
        "unregister_device",
        "SELECT fanfare.unregister_device($1, $2, $3)"
    )

    /// Calls `fanfare.unregister_device` for an id.
    ///
    /// Binds: app, id.
    package static let unregisterDeviceByID = Statement<Bool, String, Int64>(
        "unregister_device_by_id",
        "SELECT fanfare.unregister_device($1, $2)"
    )

    /// Reads the user of the device that holds a token, and locks the device until the transaction ends.
    ///
    /// Binds: app, provider, token.
    package static let deviceOwner = Statement<String?, String, String, String>(
        "device_owner",
        """
        SELECT d.user_id FROM fanfare.devices AS d WHERE d.id = fanfare.device_id($1, $2, $3) FOR NO KEY UPDATE
        """
    )

    /// Calls `fanfare.subscribe`.
    ///
    /// Binds: ids, topic.
    package static let subscribeDevices = Statement<Int64, [Int64], String>(
        "subscribe_devices",
        "SELECT fanfare.subscribe($1::bigint[], $2)"
    )

    /// Calls `fanfare.unsubscribe`.
    ///
    /// Binds: ids, topic.
    package static let unsubscribeDevices = Statement<Int64, [Int64], String>(
        "unsubscribe_devices",
        "SELECT fanfare.unsubscribe($1::bigint[], $2)"
    )
}
