package import FanfareCore
package import PostgresClient

extension DeviceRegistration: PostgresBind {
    package func append(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(provider)
        binds.append(token)
        binds.append(userID)
        binds.append(kind)
        binds.append(environment)
        binds.append(locale)
        binds.append(timeZone)
        binds.append(attributes.map { JSONValue.object($0).text })
        binds.append(p256dh)
        binds.append(auth)
        binds.append(replaces)
        binds.append(address)
        binds.append(permission)
        binds.append(presents)
    }
}

extension SQL {
    /// Calls `fanfare.register_device`.
    ///
    /// Binds: registration.
    package static let registerDevice = Statement<Int64, DeviceRegistration>(
        "register_device",
        "SELECT fanfare.register_device($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, $10, $11, $12, $13, $14, $15::text[])"
    )

    /// Disables a user's oldest devices above a limit.
    ///
    /// Binds: app, user, limit.
    package static let limitDevices = Statement<Void, String, String, Int32>(
        "limit_devices",
        """
        UPDATE fanfare.devices AS d SET disabled_at = clock_timestamp(), disabled_reason = 'unregistered'
        WHERE d.id IN (
            SELECT x.id FROM fanfare.devices AS x
            WHERE x.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1) AND x.user_id = $2 AND x.disabled_at IS NULL
            ORDER BY x.registered_at DESC, x.id DESC OFFSET $3::int)
        """
    )

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
