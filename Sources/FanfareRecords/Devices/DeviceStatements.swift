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
        binds.append(registration.attributes)
        binds.append(registration.p256dh)
        binds.append(registration.auth)
        binds.append(registration.replaces)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Calls `fanfare.unregister_device`.
package struct UnregisterDevice: PostgresStatement {
    package static let name = "unregister_device"
    package static let sql = "SELECT fanfare.unregister_device($1, $2, $3)"

    package let app: String
    package let provider: String
    package let token: String

    package init(app: String, provider: String, token: String) {
        self.app = app
        self.provider = provider
        self.token = token
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(provider)
        binds.append(token)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Calls `fanfare.unregister_device` for an id.
package struct UnregisterDeviceByID: PostgresStatement {
    package static let name = "unregister_device_by_id"
    package static let sql = "SELECT fanfare.unregister_device($1, $2)"

    package let app: String
    package let id: Int64

    package init(app: String, id: Int64) {
        (self.app, self.id) = (app, id)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(id)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Reads the user of the device that holds a token, and locks the device until the transaction ends.
package struct DeviceOwner: PostgresStatement {
    package static let name = "device_owner"
    package static let sql = """
        SELECT d.user_id FROM fanfare.devices AS d WHERE d.id = fanfare.device_id($1, $2, $3) FOR NO KEY UPDATE
        """

    package let app: String
    package let provider: String
    package let token: String

    package init(app: String, provider: String, token: String) {
        (self.app, self.provider, self.token) = (app, provider, token)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(provider)
        binds.append(token)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String? {
        try row.string(orNil: 0)
    }
}

/// Calls `fanfare.subscribe`.
package struct SubscribeDevices: PostgresStatement {
    package static let name = "subscribe_devices"
    package static let sql = "SELECT fanfare.subscribe($1::bigint[], $2)"

    package let ids: [Int64]
    package let topic: String

    package init(ids: [Int64], topic: String) {
        self.ids = ids
        self.topic = topic
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ids)
        binds.append(topic)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Calls `fanfare.unsubscribe`.
package struct UnsubscribeDevices: PostgresStatement {
    package static let name = "unsubscribe_devices"
    package static let sql = "SELECT fanfare.unsubscribe($1::bigint[], $2)"

    package let ids: [Int64]
    package let topic: String

    package init(ids: [Int64], topic: String) {
        self.ids = ids
        self.topic = topic
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ids)
        binds.append(topic)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}
