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
            detail: try row.string(orNil: 14)
        )
    }
}
