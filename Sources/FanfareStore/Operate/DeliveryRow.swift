package import PostgresClient

/// One attempt to reach one device with one event.
public struct DeliveryRow: Sendable {
    /// Where it stands in a list: a batch holds a pair of event and device once.
    public struct Place: Sendable, Equatable {
        /// The batch's id.
        public var batch: Int64
        /// The event's id.
        public var event: Int64
        /// The device's id.
        public var device: Int64

        /// Names a place.
        public init(batch: Int64, event: Int64, device: Int64) {
            (self.batch, self.event, self.device) = (batch, event, device)
        }
    }

    /// Where it stands.
    public let place: Place
    /// The event's type.
    public let eventType: String
    /// The rule's app.
    public let app: String
    /// The rule's name.
    public let rule: String
    /// The rule's version.
    public let ruleVersion: Int32
    /// A provider's name.
    public let platform: String
    /// `production` or `sandbox`.
    public let environment: String
    /// The device's user, if known.
    public let userID: String?
    /// Which attempt, from 1.
    public let attempt: Int16
    /// What came of it.
    public let outcome: String
    /// Why.
    public let reason: String
    package let at: Timestamp?
    /// The reason in words, if there is something to say.
    public let detail: String?

    static let columns = """
        batch_id, event_id, device_id, event_type, app, rule, rule_version, platform, environment, user_id, attempt::smallint,
        outcome, reason, at, detail
        """

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DeliveryRow {
        DeliveryRow(
            place: Place(batch: try row.int64(0), event: try row.int64(1), device: try row.int64(2)),
            eventType: try row.string(3),
            app: try row.string(4),
            rule: try row.string(5),
            ruleVersion: try row.int32(6),
            platform: try row.string(7),
            environment: try row.string(8),
            userID: try row.string(orNil: 9),
            attempt: try row.int16(10),
            outcome: try row.string(11),
            reason: try row.string(12),
            at: try row.timestamp(orNil: 13),
            detail: try row.string(orNil: 14)
        )
    }
}

/// What became of an event, by batch and device.
package struct EventDeliveries: PostgresStatement {
    package static let name = "event_deliveries"
    package static let sql = """
        SELECT \(DeliveryRow.columns) FROM fanfare.deliveries
        WHERE event_id = $1 AND batch_id >= $2 AND (batch_id, device_id) > ($2, $3)
        ORDER BY batch_id, device_id
        LIMIT $4
        """

    package let event: Int64
    /// Behind which the list goes on; nil for its beginning.
    package let after: DeliveryRow.Place?
    package let limit: Int64

    package init(event: Int64, after: DeliveryRow.Place?, limit: Int64) {
        (self.event, self.after, self.limit) = (event, after, limit)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(event)
        binds.append(after?.batch ?? 0)
        binds.append(after?.device ?? 0)
        binds.append(limit)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DeliveryRow {
        try DeliveryRow.decode(row)
    }
}

/// What became of what was for a user, the newest events first.
package struct UserDeliveries: PostgresStatement {
    package static let name = "user_deliveries"
    package static let sql = """
        SELECT \(DeliveryRow.columns) FROM fanfare.deliveries
        WHERE app = $1 AND user_id = $2
            AND ($3::bigint IS NULL OR (event_id, batch_id, device_id) < ($3, $4, $5))
        ORDER BY event_id DESC, batch_id DESC, device_id DESC
        LIMIT $6
        """

    package let app: String
    package let user: String
    /// Behind which the list goes on; nil for its beginning.
    package let after: DeliveryRow.Place?
    package let limit: Int64

    package init(app: String, user: String, after: DeliveryRow.Place?, limit: Int64) {
        (self.app, self.user, self.after, self.limit) = (app, user, after, limit)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(user)
        binds.append(after?.event)
        binds.append(after?.batch ?? 0)
        binds.append(after?.device ?? 0)
        binds.append(limit)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DeliveryRow {
        try DeliveryRow.decode(row)
    }
}
