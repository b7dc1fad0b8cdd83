package import FanfareRecords
package import FanfareTools
internal import PostgresClient

/// An event, with the counts of its outcomes.
package struct EventDetail: Sendable {
    /// The event.
    package let event: FoundEvent
    /// The payload as indented JSON; nil if it is not stored any more.
    package let payload: String?
    /// The payload's size as text.
    package let payloadBytes: Int64
    /// The id of the emitter's trace, in hexadecimal; nil for none.
    package let traceID: String?
    /// The outcomes of the batches that were counted.
    package let outcomes: [EventOutcomesRow]
    /// The batch after which counting continues; nil if all batches were counted.
    package let next: Int64?
    /// The campaign run of the event; nil for other events.
    package let run: EventRunRow?
}

extension ToolDatabase {
    /// The number of counting queries for one page, enough for two million pushes.
    private static let countings = 4

    /// Reads an event, and counts the outcomes of a limited number of its batches.
    ///
    /// - Parameters:
    ///   - id: the event's id.
    ///   - after: ``EventDetail/next`` of the previous part; 0 for the start.
    /// - Returns: the event.
    /// - Throws: ``ToolError``, also if there is no such event.
    package func eventDetail(_ id: Int64, after: Int64) async throws(ToolError) -> EventDetail {
        let detail = try await run { connection throws(PostgresError) -> EventDetail? in
            guard let head = try connection.run(SQL.eventHead(id)).first else { return nil }
            var (outcomes, place): ([EventOutcomesRow], Int64?) = ([], after)
            for _ in 0..<Self.countings {
                let rows = try connection.run(SQL.eventOutcomes(id, place ?? 0, SearchBudget.counted))
                place = rows.first?.lastBatch
                guard place != nil else { break }
                outcomes += rows
            }
            // Checks whether more batches follow, or the last one was counted.
            if let last = place, try connection.run(SQL.eventOutcomes(id, last, 20)).isEmpty {
                place = nil
            }
            return EventDetail(
                event: head.event,
                payload: head.payload,
                payloadBytes: head.payloadBytes,
                traceID: head.traceID,
                outcomes: outcomes,
                next: place,
                run: try connection.run(SQL.eventRun(id)).first
            )
        }
        guard let detail else { throw Self.noEvent(id) }
        return detail
    }

    /// Returns each rule's verdict on an event: whether it matched, and why not.
    ///
    /// - Parameter id: the event's id.
    /// - Returns: a row for each rule of the event's type, or one row without a rule if there is none.
    /// - Throws: ``ToolError``.
    package func ruleVerdicts(ofEvent id: Int64) async throws(ToolError) -> [WhyRow] {
        let rows = try await run { connection throws(PostgresError) in
            // No user has an empty id, so the query returns only rows about the event and its rules.
            try connection.run(SQL.whyRows(id, "", nil))
        }
        return rows.filter {
            $0.deviceID == nil && ($0.rule != nil || $0.reason == "no_rule") && $0.reason != "no_device"
        }
    }
}
