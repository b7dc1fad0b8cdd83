public import FanfareStore
package import PostgresClient

/// A part of a list of pushes that are looked for so much at a time.
public struct FoundPushes: Sendable {
    /// Those that were found; none does not mean that there are none, while there is ``next``.
    public let rows: [DeliveryRow]
    /// By which numbers the list goes on; nil for all that there is.
    public let next: [Int64]?
    /// Back to when was looked, where the search ended before the list did.
    package var searchedTo: Timestamp?
    /// Whether the search ended before the list did.
    package var isStopped = false

    /// Puts a part together.
    package init(rows: [DeliveryRow], next: [Int64]?, searchedTo: Timestamp? = nil, isStopped: Bool = false) {
        (self.rows, self.next, self.searchedTo, self.isStopped) = (rows, next, searchedTo, isStopped)
    }
}

extension ToolDatabase {
    /// How many numbers say where a list of pushes goes on.
    package static let placeOfPush = 2

    /// Tells what became of an event, device by device.
    ///
    /// - Parameters:
    ///   - event: its id.
    ///   - outcome: only of this outcome; nil for all.
    ///   - reason: only for this reason; nil for all.
    ///   - after: ``FoundPushes/next`` of the part before; nil for the beginning.
    ///   - limit: how many at most.
    /// - Returns: by batch and device.
    /// - Throws: ``ToolError``.
    public func pushes(
        ofEvent event: Int64,
        outcome: String? = nil,
        reason: String? = nil,
        after: [Int64]?,
        limit: Int
    ) async throws(ToolError) -> FoundPushes {
        let statement = EventPushes(
            event: event,
            after: after.map { DeliveryRow.Place(batch: $0[0], event: event, device: $0[1]) },
            outcome: outcome,
            reason: reason,
            limit: Int32(limit + 1)
        )
        let found = try await run { connection throws(PostgresError) in try connection.run(statement) }
        let rows = found.compactMap(\.found)
        if rows.count > limit {
            return FoundPushes(
                rows: Array(rows.prefix(limit)),
                next: [rows[limit - 1].place.batch, rows[limit - 1].place.device]
            )
        }
        guard let stop = found.last?.stop else { return FoundPushes(rows: rows, next: nil) }
        return FoundPushes(rows: rows, next: [stop.place, .max], isStopped: true)
    }

    /// Tells what became of what was for a user: the newest batches first, and before all others what waits.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    ///   - after: ``FoundPushes/next`` of the part before; nil for the beginning.
    ///   - limit: how many at most; of what waits no more are told of.
    /// - Returns: a part of them.
    /// - Throws: ``ToolError``.
    public func pushes(
        ofUser user: String,
        app: String?,
        after: [Int64]?,
        limit: Int
    ) async throws(ToolError) -> FoundPushes {
        // Of the last batch of the part before so many were told of.
        let (batch, seen) = (after?[0], after.map { Int(clamping: $0[1]) } ?? 0)
        let statement = UserPushes(
            user: user,
            app: app,
            before: batch.map { seen > 0 && $0 < .max ? $0 + 1 : $0 },
            limit: Int32(clamping: limit + 1 + seen)
        )
        let found = try await run { connection throws(PostgresError) in try connection.run(statement) }
        let logged = found.compactMap(\.found).filter { $0.at != nil }
        let waiting = found.compactMap(\.found).filter { $0.at == nil }.prefix(limit)
        let shown = logged.dropFirst(seen).prefix(limit - waiting.count)
        let rows = Array(waiting) + shown
        if logged.count > seen + shown.count {
            guard let last = shown.last?.place.batch else { return FoundPushes(rows: rows, next: [.max, 0]) }
            return FoundPushes(
                rows: rows,
                next: [last, Int64(logged.prefix(seen + shown.count).count { $0.place.batch == last })]
            )
        }
        guard let stop = found.last?.stop else { return FoundPushes(rows: rows, next: nil) }
        return FoundPushes(rows: rows, next: [stop.place, 0], searchedTo: stop.at, isStopped: true)
    }
}
