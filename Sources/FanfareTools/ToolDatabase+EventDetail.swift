package import FanfareStore
internal import PostgresClient

/// An event, and how often each outcome came of it.
package struct EventDetail: Sendable {
    /// The event.
    package let event: FoundEvent
    /// Indented JSON; nil where it is not kept.
    package let payload: String?
    /// What it takes as text.
    package let payloadBytes: Int64
    /// Of the trace that its emitter was in, in hexadecimal; nil for none.
    package let traceID: String?
    /// Of the batches that were counted.
    package let outcomes: [EventOutcomes.Row]
    /// Behind which batch the counting goes on; nil for all that there are.
    package let next: Int64?
    /// The campaign's run that it is; nil for other events.
    package let run: EventRun.Row?
}

extension ToolDatabase {
    /// So many times the budget of one counting is counted for a page: two million pushes.
    private static let countings = 4

    /// Tells of an event, and of so many of its batches behind one how they ended.
    ///
    /// - Parameters:
    ///   - id: the event's id.
    ///   - after: ``EventDetail/next`` of the part before; 0 for the beginning.
    /// - Returns: the event.
    /// - Throws: ``ToolError``, also if there is none.
    package func eventDetail(_ id: Int64, after: Int64) async throws(ToolError) -> EventDetail {
        let detail = try await run { connection throws(PostgresError) -> EventDetail? in
            guard let head = try connection.run(EventHead(id: id)).first else { return nil }
            var (outcomes, place): ([EventOutcomes.Row], Int64?) = ([], after)
            for _ in 0..<Self.countings {
                let rows = try connection.run(EventOutcomes(event: id, after: place ?? 0))
                place = rows.first?.lastBatch
                guard place != nil else { break }
                outcomes += rows
            }
            // Whether there is more behind what was counted, or it ended just there.
            if let last = place, try connection.run(EventOutcomes(event: id, after: last, budget: 20)).isEmpty {
                place = nil
            }
            return EventDetail(
                event: head.event,
                payload: head.payload,
                payloadBytes: head.payloadBytes,
                traceID: head.traceID,
                outcomes: outcomes,
                next: place,
                run: try connection.run(EventRun(event: id)).first
            )
        }
        guard let detail else { throw Self.noEvent(id) }
        return detail
    }

    /// What the rules said to an event: whether each took it, and why not.
    ///
    /// - Parameter id: the event's id.
    /// - Returns: a row for each rule of its type, and one without a rule where there is none.
    /// - Throws: ``ToolError``.
    package func ruleVerdicts(ofEvent id: Int64) async throws(ToolError) -> [WhyRow] {
        let rows = try await run { connection throws(PostgresError) in
            // Nobody has no id, so that only what is about the event and its rules is told.
            try connection.run(WhyRows(eventID: id, user: "", app: nil))
        }
        return rows.filter {
            $0.deviceID == nil && ($0.rule != nil || $0.reason == "no_rule") && $0.reason != "no_device"
        }
    }
}
