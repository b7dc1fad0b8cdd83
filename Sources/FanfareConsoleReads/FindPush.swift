internal import FanfareCore
internal import FanfareRecords
package import FanfareTools
internal import PostgresClient

extension ToolDatabase {
    /// Finds, among the latest pushes, the one with a provider's id, such as an `apns-id`.
    ///
    /// - Parameter deliveryID: the id, a UUID.
    /// - Returns: the event and the device; nil if none of the latest pushes has this id.
    /// - Throws: ``ToolError``.
    package func push(ofDelivery deliveryID: String) async throws(ToolError) -> (event: Int64, device: Int64)? {
        let rows = try await rows(of: SQL.lastDeliveries(SearchBudget.deliveries))
        let wanted = deliveryID.lowercased()
        let delivery = rows.first { row in
            let id = DeliveryID(
                event: EventID(rawValue: row.event),
                createdAt: row.createdAt.microseconds,
                ruleID: Int64(row.rule),
                deviceID: row.device
            )
            return id.text == wanted
        }
        return delivery.map { ($0.event, $0.device) }
    }
}
