package import FanfareRecords
package import FanfareTools
package import PostgresClient

/// Selects events in a search.
package struct EventFilter: Sendable {
    /// Only events of this type; nil for all.
    package var type: String?
    /// Only events with this key; nil for all.
    package var key: String?
    /// Only events with this fate, such as `planned`; nil for all.
    package var fate: String?
    /// Only events of types that this app has rules for; nil for all.
    package var app: String?
    /// Only events since this time; nil for all.
    package var since: Timestamp?
    /// Only events before this time; nil for all.
    package var until: Timestamp?

    /// Makes a filter that selects all events.
    package init() {}

    /// Returns whether the filter selects an event, judged by the event's own columns.
    fileprivate func takes(_ event: FoundEvent) -> Bool {
        event.type == type ?? event.type && event.fate == fate ?? event.fate
            && (since.map { event.createdAt >= $0 } ?? true) && (until.map { event.createdAt < $0 } ?? true)
    }
}

extension ToolDatabase {
    /// The number of events with a key whose details are read.
    private static let eventsOfKey = 20

    /// Searches events: first those that wait to be planned, then the log.
    ///
    /// - Parameters:
    ///   - filter: selects the events.
    ///   - before: ``FoundPage/next`` of the previous page; nil for the start.
    ///   - limit: the maximum number of log events, and of waiting events.
    /// - Returns: a page. Events that hold the key come first, regardless of age. The list continues in the log, except
    ///   for ``EventFilter/fate`` `waiting`.
    /// - Throws: ``ToolError``.
    package func events(_ filter: EventFilter, before: EventPlace?, limit: Int) async throws(ToolError) -> FoundEvents {
        try await run { connection throws(PostgresError) in
            var waiting = FoundEvents(rows: [], next: nil)
            if before == nil || filter.fate == "waiting", filter.fate ?? "waiting" == "waiting" {
                waiting = try Self.waiting(filter, before: before, limit: limit, connection)
            }
            guard filter.fate != "waiting" else { return waiting }
            var others = waiting.rows
            if before == nil, let key = filter.key, filter.app == nil {
                for holder in try connection.run(SQL.eventsOfKey(key, filter.type)).prefix(Self.eventsOfKey) {
                    others += try connection.run(SQL.eventHead(holder.id)).map(\.event)
                }
            }
            others = others.filter(filter.takes)
            let until = try filter.until.flatMap { at throws(PostgresError) in
                try connection.run(SQL.eventIDAt(at)).first
            }
            let rows = try connection.run(
                SQL.findEvents(
                    [before?.id, until].compactMap(\.self).min(),
                    filter.since,
                    filter.type,
                    filter.key,
                    filter.fate,
                    Int32(limit + 1),
                    SearchBudget.events,
                    filter.app
                )
            )
            let (found, stop) = (rows.compactMap(\.found), rows.last?.stop)
            let shown = found.prefix(limit)
            let ids = Set(shown.map(\.id))
            let all = shown + Dictionary(others.map { ($0.id, $0) }) { $1 }.values.filter { !ids.contains($0.id) }
            return FoundEvents(
                rows: all.sorted { $0.id > $1.id },
                next: (found.count > limit ? shown.last?.id : stop?.place).map { EventPlace(id: $0) },
                searchedTo: stop?.at,
                isStopped: stop != nil,
                isMoreWaiting: waiting.next != nil
            )
        }
    }

    /// Searches the events that wait.
    private static func waiting(
        _ filter: EventFilter,
        before: EventPlace?,
        limit: Int,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> FoundEvents {
        let rows = try connection.run(
            SQL.findWaiting(
                filter.type,
                filter.key,
                filter.app,
                Int32(limit + 1),
                SearchBudget.events,
                filter.since,
                filter.until,
                before?.transaction,
                before?.id
            )
        )
        let stop = rows.last.flatMap { $0.event == nil ? $0 : nil }
        let shown = rows.prefix(limit).filter { $0.event != nil }
        let isFull = rows.count > limit && stop == nil
        return FoundEvents(
            rows: shown.compactMap(\.event),
            next: isFull ? shown.last?.place : stop?.place,
            searchedTo: stop?.at,
            isStopped: stop != nil
        )
    }
}
