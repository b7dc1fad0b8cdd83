internal import FanfareCore
package import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// Rules and campaigns of a name.
    ///
    /// - Parameter text: the whole name, however it is capitalized.
    /// - Returns: at most 20, rules first.
    /// - Throws: ``ToolError``.
    package func named(_ text: String) async throws(ToolError) -> [FindNamed.Row] {
        try await run { connection throws(PostgresError) in try connection.run(FindNamed(text)) }
    }

    /// Looks among the last pushes for the one that a provider knows by an id, such as an `apns-id`.
    ///
    /// - Parameter deliveryID: as a UUID.
    /// - Returns: the event and the device; nil where it is none of the last.
    /// - Throws: ``ToolError``.
    package func push(ofDelivery deliveryID: String) async throws(ToolError) -> (event: Int64, device: Int64)? {
        let rows = try await run { connection throws(PostgresError) in try connection.run(LastDeliveries()) }
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
