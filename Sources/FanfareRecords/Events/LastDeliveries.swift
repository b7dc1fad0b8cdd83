package import PostgresClient

/// Reads the last deliveries sent, with the columns from which a delivery's id is computed, since it is not stored.
package struct LastDeliveries: PostgresStatement {
    package static let name = "last_deliveries"
    package static let sql = "SELECT event_id, created_at, rule_id, device_id FROM fanfare.last_deliveries($1)"

    /// The most deliveries read.
    package let budget: Int32

    package init(budget: Int32 = SearchBudget.deliveries) {
        self.budget = budget
    }

    /// An event and a device that it was sent to by a rule.
    package struct Row: Sendable {
        package let event: Int64
        package let createdAt: Timestamp
        package let rule: Int32
        package let device: Int64
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(budget)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(event: try row.int64(0), createdAt: try row.timestamp(1), rule: try row.int32(2), device: try row.int64(3))
    }
}
