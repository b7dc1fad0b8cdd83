internal import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// The number of numbers in a position of a push list.
    package static let placeOfPush = 2

    /// Lists the pushes of an event, device by device.
    ///
    /// - Parameters:
    ///   - event: its id.
    ///   - outcome: only pushes with this outcome; nil for all.
    ///   - reason: only pushes with this reason; nil for all.
    ///   - after: ``FoundPage/next`` of the previous page; nil for the start.
    ///   - limit: the maximum number of pushes.
    /// - Returns: a page, ordered by batch and device.
    /// - Throws: ``ToolError``.
    public func pushes(
        ofEvent event: Int64,
        outcome: String? = nil,
        reason: String? = nil,
        after: [Int64]?,
        limit: Int
    ) async throws(ToolError) -> FoundPushes {
        let (batch, device) = (after?[0] ?? 0, after?[1] ?? 0)
        let most = Int32(limit + 1)
        let id = try await eventID(of: event)
        let statement = SQL.eventPushes(id, batch, device, outcome, reason, most, SearchBudget.batches)
        let found = try await rows(of: statement)
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

    /// Lists the pushes to a user: first those that wait, then the newest batches.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    ///   - after: ``FoundPage/next`` of the previous page; nil for the start.
    ///   - limit: the maximum number of pushes, and of waiting ones.
    /// - Returns: a page.
    /// - Throws: ``ToolError``.
    public func pushes(
        ofUser user: String,
        app: String?,
        after: [Int64]?,
        limit: Int
    ) async throws(ToolError) -> FoundPushes {
        // The last batch of the previous page, and how many of its pushes were listed.
        let (batch, seen) = (after?[0], after.map { Int(clamping: $0[1]) } ?? 0)
        let statement = SQL.userPushes(
            user,
            app,
            batch.map { seen > 0 && $0 < .max ? $0 + 1 : $0 },
            Int32(clamping: limit + 1 + seen),
            SearchBudget.pushes
        )
        let found = try await rows(of: statement)
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
