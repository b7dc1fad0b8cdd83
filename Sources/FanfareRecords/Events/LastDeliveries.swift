package import PostgresClient

/// An event and a device that it was sent to by a rule.
package struct LastDeliveriesRow: Sendable {
    package let event: Int64
    package let createdAt: Timestamp
    package let rule: Int32
    package let device: Int64
}

extension SQL {
    /// Reads the last deliveries sent, with the columns from which a delivery's id is computed, since it is not stored.
    ///
    /// Binds: budget.
    package static let lastDeliveries = Statement<LastDeliveriesRow, Int32>(
        "last_deliveries",
        "SELECT event_id, created_at, rule_id, device_id FROM fanfare.last_deliveries($1)",
        row: LastDeliveriesRow.init
    )
}
