package import FanfareCore
package import PostgresClient

/// A device as it is immediately before its push.
package struct DeviceRow {
    /// The token; nil if the device was deleted.
    package let token: String?
    package let target: Int16
    package let kind: String
    package let isEnabled: Bool
    package let registeredAt: Timestamp
    package let locale: String?
    /// A Web Push subscription's public key; nil for other providers.
    package let p256dh: String?
    /// A Web Push subscription's or a webhook's secret; nil for providers whose devices have none.
    package let auth: String?
    /// The device's user; nil if it has none.
    package var userID: String? = nil
    /// The rule whose push made the provider call the token bad; nil if no push did, or if the provider accepted
    /// another one since.
    package var doubtedBy: Int32? = nil
    /// Whether the token is a Firebase installation id.
    package var isInstallation = false
}

/// Reads tokens and state of a batch's devices, in the order of ids.
///
/// It runs at send time; a lone event's devices are read when it is planned (``LoneBatch``). Devices of a broadcast are
/// mostly read by ``FetchDeviceRange``. The rows are given to ``DeviceRow/align(_:to:)``.
package struct FetchDevices: PostgresStatement {
    package static let name = "fetch_devices"
    package static let sql = """
        SELECT \(DeviceRow.columns) FROM fanfare.devices AS d WHERE d.id = ANY ($1::bigint[]) ORDER BY d.id
        """

    package let deviceIDs: [Int64]

    package init(deviceIDs: [Int64]) {
        self.deviceIDs = deviceIDs
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(deviceIDs)
    }

    package static func decode(
        _ row: borrowing PostgresRow
    ) throws(PostgresError) -> (id: Int64, device: DeviceRow) {
        (try row.int64(0), try DeviceRow(row))
    }
}

/// Reads all devices between two ids, in the order of ids: one walk along the index instead of one look-up for each
/// device.
package struct FetchDeviceRange: PostgresStatement {
    package static let name = "fetch_device_range"
    package static let sql = """
        SELECT \(DeviceRow.columns) FROM fanfare.devices AS d WHERE d.id BETWEEN $1 AND $2 ORDER BY d.id
        """
    /// The fewest devices for which the walk is worth a statement of its own.
    private static let least = 50

    private let deviceIDs: [Int64]

    /// Creates a statement for devices whose ids are close together.
    ///
    /// - Parameter deviceIDs: the ids; the result is nil unless they ascend and lie within 2.5 times their number, since
    ///   a row that is read in vain costs two fifths of a look-up.
    package init?(around deviceIDs: [Int64]) {
        guard deviceIDs.count >= Self.least, let first = deviceIDs.first, let last = deviceIDs.last,
            first > 0, last > first, (last - first) / 5 < Int64(deviceIDs.count) / 2,
            zip(deviceIDs, deviceIDs.dropFirst()).allSatisfy(<)
        else { return nil }
        self.deviceIDs = deviceIDs
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(deviceIDs[0])
        binds.append(deviceIDs[deviceIDs.count - 1])
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> FetchDevices.Row {
        try FetchDevices.decode(row)
    }
}

extension DeviceRow {
    /// Returns the devices with the given ids, each in its place; deleted ones have no token.
    ///
    /// - Parameters:
    ///   - rows: the devices that exist, in the order of ids.
    ///   - ids: the ids; mostly they ascend.
    /// - Returns: a device for each id.
    package static func align(_ rows: [FetchDevices.Row], to ids: [Int64]) -> [DeviceRow] {
        var (next, last) = (0, Int64.min)
        return ids.map { id in
            if id < last { next = place(of: id, in: rows) }
            last = id
            while next < rows.count, rows[next].id < id { next += 1 }
            return next < rows.count && rows[next].id == id ? rows[next].device : .deleted
        }
    }

    /// Returns the index of the first row whose id is not below an id.
    private static func place(of id: Int64, in rows: [FetchDevices.Row]) -> Int {
        var (low, high) = (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The columns of a device `d`.
    fileprivate static let columns = """
        d.id, d.token, d.target_id, d.kind, d.disabled_at IS NULL, d.registered_at, d.locale, d.p256dh, d.auth, d.user_id,
            d.doubted_by, d.address IS NOT NULL
        """

    /// A device that was deleted.
    fileprivate static let deleted = DeviceRow(
        token: nil,
        target: 0,
        kind: "",
        isEnabled: false,
        registeredAt: Timestamp(microseconds: 0),
        locale: nil,
        p256dh: nil,
        auth: nil
    )

    /// Reads the row of ``columns``.
    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        self.init(
            token: try row.string(1),
            target: try row.int16(2),
            kind: try row.string(3),
            isEnabled: try row.bool(4),
            registeredAt: try row.timestamp(5),
            locale: try row.string(orNil: 6),
            p256dh: try row.string(orNil: 7),
            auth: try row.string(orNil: 8),
            userID: try row.string(orNil: 9),
            doubtedBy: try row.int32(orNil: 10),
            isInstallation: try row.bool(11)
        )
    }
}

/// Reads the device fields that templates use, for rules that use them.
package struct FetchDeviceFields: PostgresStatement {
    package static let name = "fetch_device_fields"
    package static let sql = """
        SELECT d.id, d.user_id, d.locale, d.time_zone,
            -- Older versions of Fanfare stored any.
            CASE WHEN octet_length(d.attributes::text) <= 16384 THEN d.attributes::text END
        FROM fanfare.devices AS d WHERE d.id = ANY ($1::bigint[])
        """

    package let deviceIDs: [Int64]

    package init(deviceIDs: [Int64]) {
        self.deviceIDs = deviceIDs
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(deviceIDs)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DeviceContext {
        let attributes = try row.string(orNil: 4) ?? "{}"
        return DeviceContext(
            deviceID: try row.int64(0),
            userID: try row.string(orNil: 1),
            locale: try row.string(orNil: 2),
            timeZone: try row.string(orNil: 3),
            attributes: (try? JSONValue(parsing: attributes))?.objectValue ?? JSONObject()
        )
    }
}

/// A rule version as it is stored.
package struct RuleVersionRow {
    package let id: Int32
    package let ruleID: Int32
    package let version: Int32
    package let definition: String
    /// Whether it is the version that gathers events for its rule's digests.
    package let isGatherer: Bool
}

/// Reads rule versions by id; they never change.
package struct FetchRuleVersions: PostgresStatement {
    package static let name = "fetch_rule_versions"
    package static let sql = """
        SELECT id, rule_id, version, definition::text, audience IS NOT DISTINCT FROM 'gather'
        FROM fanfare.rule_versions WHERE id = ANY ($1::int[])
        """

    package let ids: [Int32]

    package init(ids: [Int32]) {
        self.ids = ids
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ids)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RuleVersionRow {
        RuleVersionRow(
            id: try row.int32(0),
            ruleID: try row.int32(1),
            version: try row.int32(2),
            definition: try row.string(3),
            isGatherer: try row.bool(4)
        )
    }
}
