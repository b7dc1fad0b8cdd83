package import PostgresClient

/// One attempt to push one event to one device.
public struct DeliveryRow: Sendable {
    /// The place of a delivery in a list: a batch has a device of an event at most once.
    public struct Place: Sendable, Equatable {
        /// The batch's id.
        public var batch: Int64
        /// The event's id.
        public var event: Int64
        /// The device's id.
        public var device: Int64

        /// Creates a place.
        public init(batch: Int64, event: Int64, device: Int64) {
            (self.batch, self.event, self.device) = (batch, event, device)
        }
    }

    /// The delivery's place in a list.
    public let place: Place
    /// The event's type.
    public let eventType: String
    /// The rule's app.
    public let app: String
    /// The rule's name.
    public let rule: String
    /// The rule's version.
    public let ruleVersion: Int32
    /// The provider's name.
    public let provider: String
    /// `production` or `sandbox`.
    public let environment: String
    /// The device's user, if known.
    public let userID: String?
    /// The number of the attempt, from 1.
    public let attempt: Int16
    /// The outcome.
    public let outcome: String
    /// The outcome's reason.
    public let reason: String
    package let at: Timestamp?
    /// A readable explanation, if there is more to say.
    public let detail: String?
    /// What the device reported: `received`, `shown`, `opened`, `action` and `dismissed`.
    public let reports: [String]

    /// Decodes columns in the order of the properties.
    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DeliveryRow {
        DeliveryRow(
            place: Place(batch: try row.int64(0), event: try row.int64(1), device: try row.int64(2)),
            eventType: try row.string(3),
            app: try row.string(4),
            rule: try row.string(5),
            ruleVersion: try row.int32(6),
            provider: try row.string(7),
            environment: try row.string(8),
            userID: try row.string(orNil: 9),
            attempt: try row.int16(10),
            outcome: try row.string(11),
            reason: try row.string(12),
            at: try row.timestamp(orNil: 13),
            detail: try row.string(orNil: 14),
            reports: try row.read(15) ?? []
        )
    }
}

extension SQL {
    /// Reads the outcomes of an event, by batch and device; also for events with millions of deliveries.
    ///
    /// Binds: event, the batch and the device after which the list continues (0 for its start), outcome, reason, limit, the
    /// most batches read.
    package static let eventPushes = Statement<
        SearchRow<DeliveryRow>, Int64, Int64, Int64, String?, String?, Int32, Int32
    >(
        "event_pushes",
        """
        SELECT p.batch_id, $1::bigint, p.device_id, v.event_type, p.app, p.rule, p.rule_version, p.provider, p.environment, p.user_id,
            p.attempt, p.outcome, p.reason, p.at, p.detail, fanfare.reports_of(p.batch_id, $1, p.device_id)
        FROM fanfare.event_pushes($1, $2, $3, $4, $5, $6, $7) AS p
        CROSS JOIN (SELECT (SELECT e.type FROM fanfare.events AS e WHERE e.id = $1) AS event_type) AS v
        ORDER BY p.batch_id, p.device_id NULLS LAST
        """
    ) { row throws(PostgresError) in
        guard try row.int64(orNil: 2) != nil else {
            // After all devices of the batch.
            return .stopped(.init(place: try row.int64(0), at: nil))
        }
        return .found(try DeliveryRow.decode(row))
    }

    /// Reads the pushes to a user's devices, the newest batches first, waiting ones before all.
    ///
    /// Binds: user, app, before, limit, budget.
    package static let userPushes = Statement<SearchRow<DeliveryRow>, String, String?, Int64?, Int32, Int32>(
        "user_pushes",
        """
        SELECT batch_id, event_id, device_id, event_type, app, rule, rule_version, provider, environment, $1, attempt, outcome, reason, at,
            detail, fanfare.reports_of(batch_id, event_id, device_id)
        FROM fanfare.user_pushes($1, $2, $3, $4, $5)
        """
    ) { row throws(PostgresError) in
        guard try row.int64(orNil: 1) != nil else {
            return .stopped(.init(place: try row.int64(0), at: try row.timestamp(orNil: 13)))
        }
        return .found(try DeliveryRow.decode(row))
    }
}
