package import PostgresClient

/// The parameters of one page of `fanfare devices export`.
package struct DeviceExportPage: PostgresBind {
    /// The app.
    package let app: String
    /// The provider; nil for all.
    package let provider: String?
    /// Whether disabled devices are included.
    package let includesDisabled: Bool
    /// The id after which the page begins.
    package let after: Int64
    /// The most devices.
    package let limit: Int64

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - provider: the provider; nil for all.
    ///   - includesDisabled: whether disabled devices are included.
    ///   - after: the id of the last device of the previous page; 0 for the first page.
    ///   - limit: the most devices.
    package init(app: String, provider: String?, includesDisabled: Bool, after: Int64, limit: Int64) {
        self.app = app
        self.provider = provider
        self.includesDisabled = includesDisabled
        self.after = after
        self.limit = limit
    }

    package func append(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(provider)
        binds.append(includesDisabled)
        binds.append(after)
        binds.append(limit)
    }
}

extension SQL {
    /// Reads one page of devices by id, without their tokens and keys, which `fanfare_reader` may not read.
    ///
    /// Binds: page.
    package static let exportDevices = Statement<ExportedDevice, DeviceExportPage>(
        "export_devices",
        exportText("NULL::text, NULL::text, NULL::text"),
        decode: ExportedDevice.init
    )

    /// Reads one page of devices by id, with tokens and keys.
    ///
    /// Binds: page.
    package static let exportDevicesWithTokens = Statement<ExportedDevice, DeviceExportPage>(
        "export_devices_with_tokens",
        exportText("d.token, d.p256dh, d.auth"),
        decode: ExportedDevice.init
    )

    /// A token that was reassigned to another user is not exported with its former device.
    private static func exportText(_ secrets: String) -> String {
        """
        SELECT d.id, d.provider, t.environment, d.kind, left(encode(d.token_hash, 'hex'), 8), \(secrets), d.user_id, d.locale, d.time_zone,
            d.attributes::text, to_char(d.registered_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            to_char(d.disabled_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), d.disabled_reason, d.address, d.permission,
            to_json(d.presents)::text,
            ARRAY(
                SELECT o.name FROM fanfare.subscriptions AS s JOIN fanfare.topics AS o ON o.id = s.topic_id
                WHERE s.device_id = d.id ORDER BY o.name)
        FROM fanfare.devices AS d
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1) AND d.id > $4
            AND ($2::text IS NULL OR d.provider = $2)
            AND (d.disabled_at IS NULL OR $3 AND d.disabled_reason <> 'reassigned')
        ORDER BY d.id
        LIMIT $5
        """
    }
}

/// A device as it is exported.
package struct ExportedDevice: Sendable {
    /// The device's id.
    package let id: Int64
    /// The name and text of each column in order; nil for a missing value.
    package let columns: [(name: String, text: String?)]
    /// The topics it is subscribed to.
    package let topics: [String]

    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        id = try row.int64(0)
        var columns: [(name: String, text: String?)] = []
        for (index, name) in Self.names.enumerated() { columns.append((name, try row.string(orNil: index + 1))) }
        self.columns = columns
        topics = try row.read(Self.names.count + 1)
    }

    /// The names of the columns after the id.
    package static let names = [
        "provider", "environment", "kind", "token_hash", "token", "p256dh", "auth", "user_id", "locale", "time_zone",
        "attributes", "registered_at", "disabled_at", "disabled_reason", "address", "permission",
        "presents",
    ]
}
