package import PostgresClient

/// One attempt to reach one device with one event.
public struct DeliveryRow: Sendable {
    /// Where it stands in a list: a batch holds a device of an event once.
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
    public let provider: String
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

    /// Reads columns in the order of the properties.
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
