package import FanfareTools
internal import Threading

/// The counts of events' variants, continued from query to query: final outcomes are counted once.
package final class VariantCounter: Sendable {
    /// The number of events whose counts are kept.
    private static let limit = 64

    private let counted = Locked<[Int64: VariantCounts]>([:])

    package init() {}

    /// Continues the count.
    ///
    /// - Parameters:
    ///   - event: the event's id.
    ///   - database: the database, with the rights of scope `reader`.
    /// - Returns: the counts so far.
    /// - Throws: ``ToolError``.
    package func counts(ofEvent event: Int64, _ database: ToolDatabase) async throws -> VariantCounts {
        let before = counted.withLock { $0[event] } ?? VariantCounts()
        let now = try await database.countVariants(ofEvent: event, behind: before)
        // Pending deliveries are counted again next time.
        guard !now.isOpen else { return now }
        counted.withLock { counted in
            if counted.count >= Self.limit, counted[event] == nil { counted.removeAll() }
            // Two concurrent queries count the same part.
            if counted[event]?.place ?? 0 == before.place { counted[event] = now }
        }
        return now
    }
}
