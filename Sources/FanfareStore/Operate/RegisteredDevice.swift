package import FanfareCore
package import PostgresClient

/// A device as the commands show it; its token only as a hash.
public struct RegisteredDevice: Sendable {
    /// Its id.
    public let id: Int64
    /// The app it belongs to.
    public let app: String
    /// A provider's name, such as `apns`.
    public let provider: String
    /// `production` or `sandbox`.
    public let environment: String
    /// What the token is for.
    public let kind: String
    /// A short hash of its token, as log lines show it.
    public let tokenHash: String
    /// Its user, if known.
    public let userID: String?
    /// Its locale, if known.
    public let locale: String?
    /// Its time zone, if known.
    public let timeZone: String?
    /// What the app keeps with it, a JSON object as text, if anything.
    public let attributes: String?
    package let registeredAt: Timestamp
    package let disabledAt: Timestamp?
    /// Why it gets nothing; nil if it does.
    public let disabledReason: String?
    /// The topics it is subscribed to; nil where they were not asked for.
    public let topics: [String]?
}

/// Devices, the newest first.
package struct ListDevices: PostgresStatement {
    package static let name = "list_devices"
    package static let columns = """
        d.id, a.name, d.provider, t.environment, d.kind, left(encode(d.token_hash, 'hex'), 8), d.user_id, d.locale,
        d.time_zone, d.attributes::text, d.registered_at, d.disabled_at, d.disabled_reason
        """
    package static let sql = """
        SELECT \(columns), NULL::text[]
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
        """

    package let filter: DeviceFilter

    package init(filter: DeviceFilter) {
        self.filter = filter
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(filter.app)
        binds.append(filter.user)
        binds.append(filter.provider)
        binds.append(filter.isDisabled)
        binds.append(filter.topic)
        binds.append(filter.limit)
        binds.append(filter.before)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RegisteredDevice {
        RegisteredDevice(
            id: try row.int64(0),
            app: try row.string(1),
            provider: try row.string(2),
            environment: try row.string(3),
            kind: try row.string(4),
            tokenHash: try row.string(5),
            userID: try row.string(orNil: 6),
            locale: try row.string(orNil: 7),
            timeZone: try row.string(orNil: 8),
            attributes: try row.string(orNil: 9),
            registeredAt: try row.timestamp(10),
            disabledAt: try row.timestamp(orNil: 11),
            disabledReason: try row.string(orNil: 12),
            topics: try row.strings(orNil: 13)
        )
    }
}

/// Devices that are subscribed to a topic, the newest first; as ``ListDevices``, which would look at each device for it.
package struct ListSubscribers: PostgresStatement {
    package static let name = "list_subscribers"
    package static let sql = """
        SELECT \(ListDevices.columns), NULL::text[]
        FROM (
            SELECT s.device_id FROM fanfare.subscriptions AS s
            WHERE s.topic_id = (SELECT o.id FROM fanfare.topics AS o WHERE o.name = $5)
                AND s.device_id < coalesce($7, \(Int64.max)) ORDER BY s.device_id DESC OFFSET 0
        ) AS s
        -- Readers may see these columns.
        CROSS JOIN LATERAL (
            SELECT x.id, x.app_id, x.target_id, x.provider, x.kind, x.token_hash, x.user_id, x.locale, x.time_zone, x.attributes,
                x.registered_at, x.disabled_at, x.disabled_reason
            FROM fanfare.devices AS x WHERE x.id = s.device_id OFFSET 0
        ) AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE ($1::text IS NULL OR a.name = $1) AND ($2::text IS NULL OR d.user_id = $2)
            AND ($3::text IS NULL OR d.provider = $3) AND ($4::boolean IS NULL OR (d.disabled_at IS NOT NULL) = $4)
        ORDER BY s.device_id DESC
        LIMIT $6
        """

    package let filter: DeviceFilter

    package init(filter: DeviceFilter) {
        self.filter = filter
    }

    package func bind(to binds: inout PostgresBinds) {
        ListDevices(filter: filter).bind(to: &binds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RegisteredDevice {
        try ListDevices.decode(row)
    }
}

/// One device with its topics.
package struct ShowDevice: PostgresStatement {
    package static let name = "show_device"
    package static let sql = """
        SELECT \(ListDevices.columns), ARRAY(
            SELECT o.name FROM fanfare.subscriptions AS s JOIN fanfare.topics AS o ON o.id = s.topic_id
            WHERE s.device_id = d.id ORDER BY o.name)
        FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE d.id = $1
        """

    package let id: Int64

    package init(id: Int64) {
        self.id = id
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RegisteredDevice {
        try ListDevices.decode(row)
    }
}
