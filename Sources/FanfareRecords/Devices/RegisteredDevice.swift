package import FanfareCore
package import PostgresClient

/// A device as commands show it, with only a hash of its token.
public struct RegisteredDevice: Sendable {
    /// The device's id.
    public let id: Int64
    /// The app that it belongs to.
    public let app: String
    /// The provider's name, such as `apns`.
    public let provider: String
    /// `production` or `sandbox`.
    public let environment: String
    /// The kind of its token.
    public let kind: String
    /// `token`, or `fid` if FCM reaches it by its Firebase installation id.
    public let address: String
    /// `authorized`, `provisional` or `denied`; nil if no registration said it.
    public let permission: String?
    /// Which of alert, badge and sound its user allows; nil if no registration said it.
    public let presents: [String]?
    /// A short hash of its token, as log lines show it.
    public let tokenHash: String
    /// The device's user, if known.
    public let userID: String?
    /// The device's locale, if known.
    public let locale: String?
    /// The device's time zone, if known.
    public let timeZone: String?
    /// The app's attributes for it, a JSON object as text, if any.
    public let attributes: String?
    package let registeredAt: Timestamp
    package let disabledAt: Timestamp?
    /// Why it is disabled; nil if it is enabled.
    public let disabledReason: String?
    /// The topics that it is subscribed to; nil if they were not requested.
    public let topics: [String]?

    /// The columns of a device `d`, its app `a` and its target `t`, without topics.
    static let columns = """
        d.id, a.name, d.provider, t.environment, d.kind, left(encode(d.token_hash, 'hex'), 8), d.user_id, d.locale,
        d.time_zone, d.attributes::text, d.registered_at, d.disabled_at, d.disabled_reason, coalesce(d.address, 'token'),
        d.permission, d.presents
        """

    /// Decodes ``columns`` and the topics.
    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RegisteredDevice {
        RegisteredDevice(
            id: try row.int64(0),
            app: try row.string(1),
            provider: try row.string(2),
            environment: try row.string(3),
            kind: try row.string(4),
            address: try row.string(13),
            permission: try row.string(orNil: 14),
            presents: try row.read(15),
            tokenHash: try row.string(5),
            userID: try row.string(orNil: 6),
            locale: try row.string(orNil: 7),
            timeZone: try row.string(orNil: 8),
            attributes: try row.string(orNil: 9),
            registeredAt: try row.timestamp(10),
            disabledAt: try row.timestamp(orNil: 11),
            disabledReason: try row.string(orNil: 12),
            topics: try row.read(16)
        )
    }
}

extension DeviceFilter: PostgresBind {
    package func append(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(user)
        binds.append(provider)
        binds.append(isDisabled)
        binds.append(topic)
        binds.append(limit)
        binds.append(before)
    }
}

extension SQL {
    /// Reads devices, the newest first.
    ///
    /// Binds: filter.
    package static let listDevices = Statement<RegisteredDevice, DeviceFilter>(
        "list_devices",
        """
        SELECT \(RegisteredDevice.columns), NULL::text[]
        FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE ($1::text IS NULL OR a.name = $1) AND ($2::text IS NULL OR d.user_id = $2)
            AND ($3::text IS NULL OR d.provider = $3) AND ($4::boolean IS NULL OR (d.disabled_at IS NOT NULL) = $4)
            AND ($5::text IS NULL OR EXISTS (
                SELECT FROM fanfare.subscriptions AS s JOIN fanfare.topics AS o ON o.id = s.topic_id
                WHERE s.device_id = d.id AND o.name = $5))
            AND ($7::bigint IS NULL OR d.id < $7)
        ORDER BY d.id DESC
        LIMIT $6
        """,
        decode: RegisteredDevice.decode
    )

    /// Reads devices that are subscribed to a topic, the newest first; ``listDevices`` would check each device for it.
    ///
    /// Binds: filter.
    package static let listSubscribers = Statement<RegisteredDevice, DeviceFilter>(
        "list_subscribers",
        """
        SELECT \(RegisteredDevice.columns), NULL::text[]
        FROM (
            SELECT s.device_id FROM fanfare.subscriptions AS s
            WHERE s.topic_id = (SELECT o.id FROM fanfare.topics AS o WHERE o.name = $5)
                AND s.device_id < coalesce($7, \(Int64.max)) ORDER BY s.device_id DESC OFFSET 0
        ) AS s
        -- Readers may see these columns.
        CROSS JOIN LATERAL (
            SELECT x.id, x.app_id, x.target_id, x.provider, x.kind, x.token_hash, x.user_id, x.locale, x.time_zone, x.attributes,
                x.registered_at, x.disabled_at, x.disabled_reason, x.address, x.permission, x.presents
            FROM fanfare.devices AS x WHERE x.id = s.device_id OFFSET 0
        ) AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE ($1::text IS NULL OR a.name = $1) AND ($2::text IS NULL OR d.user_id = $2)
            AND ($3::text IS NULL OR d.provider = $3) AND ($4::boolean IS NULL OR (d.disabled_at IS NOT NULL) = $4)
        ORDER BY s.device_id DESC
        LIMIT $6
        """,
        decode: RegisteredDevice.decode
    )

    /// Reads one device with its topics.
    ///
    /// Binds: id.
    package static let showDevice = Statement<RegisteredDevice, Int64>(
        "show_device",
        """
        SELECT \(RegisteredDevice.columns), ARRAY(
            SELECT o.name FROM fanfare.subscriptions AS s JOIN fanfare.topics AS o ON o.id = s.topic_id
            WHERE s.device_id = d.id ORDER BY o.name)
        FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE d.id = $1
        """,
        decode: RegisteredDevice.decode
    )

    /// Reads the devices of a user, at most 200, the newest first.
    ///
    /// Binds: user, app.
    package static let userDevices = Statement<RegisteredDevice, String, String?>(
        "user_devices",
        """
        SELECT \(RegisteredDevice.columns), ARRAY(
            SELECT o.name FROM fanfare.subscriptions AS s JOIN fanfare.topics AS o ON o.id = s.topic_id
            WHERE s.device_id = d.id ORDER BY o.name LIMIT 100)
        FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE d.app_id = ANY (ARRAY(SELECT x.id FROM fanfare.apps AS x WHERE $2::text IS NULL OR x.name = $2)) AND d.user_id = $1
        ORDER BY d.id DESC
        LIMIT 200
        """,
        decode: RegisteredDevice.decode
    )
}
