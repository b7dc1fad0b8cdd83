package import FanfareStore
package import PostgresClient

/// Which events are looked for.
package struct EventFilter: Sendable {
    /// Of this type; nil for all.
    package var type: String?
    /// With this key; nil for all.
    package var key: String?
    /// Of which became this, such as `planned`; nil for all.
    package var fate: String?
    /// Of types that an app has rules for; nil for all.
    package var app: String?
    /// Not older; nil for all.
    package var since: Timestamp?
    /// Older; nil for all.
    package var until: Timestamp?

    /// All of them.
    package init() {}

    /// Whether an event passes, as far as it itself tells.
    fileprivate func takes(_ event: FoundEvent) -> Bool {
        event.type == type ?? event.type && event.fate == fate ?? event.fate
            && (since.map { event.createdAt >= $0 } ?? true) && (until.map { event.createdAt < $0 } ?? true)
    }
}

/// A part of a list of events that are looked for so much at a time.
package struct FoundEvents: Sendable {
    /// The newest first; none does not mean that there are none, while there is ``next``.
    package let events: [FoundEvent]
    /// Where the list goes on; nil for all that there is.
    package let next: EventPlace?
    /// Whether more wait to be planned than are among them, where ``next`` goes on in the log.
    package let isMoreWaiting: Bool
    /// Whether the search ended before the list did.
    package let isStopped: Bool
    /// Back to when was looked then.
    package let searchedTo: Timestamp?

    /// Puts a part together.
    package init(
        events: [FoundEvent],
        next: EventPlace?,
        isMoreWaiting: Bool = false,
        isStopped: Bool,
        searchedTo: Timestamp?
    ) {
        (self.events, self.next, self.isMoreWaiting) = (events, next, isMoreWaiting)
        (self.isStopped, self.searchedTo) = (isStopped, searchedTo)
    }
}

extension ToolDatabase {
    /// Of so many events that hold a key is told what became of them.
    private static let eventsOfKey = 20

    /// Looks for events: what waits to be planned before all, then the log.
    ///
    /// - Parameters:
    ///   - filter: which.
    ///   - before: ``FoundEvents/next`` of the part before; nil for the beginning.
    ///   - limit: how many at most of the log, and of what waits.
    /// - Returns: a part of them. Those that hold the key are among the first, however old they are. The list goes on in the log, but for
    ///   ``EventFilter/fate`` `waiting`.
    /// - Throws: ``ToolError``.
    package func events(_ filter: EventFilter, before: EventPlace?, limit: Int) async throws(ToolError) -> FoundEvents {
        try await run { connection throws(PostgresError) in
            var waiting = FoundEvents(events: [], next: nil, isStopped: false, searchedTo: nil)
            if before == nil || filter.fate == "waiting", filter.fate ?? "waiting" == "waiting" {
                waiting = try Self.waiting(filter, before: before, limit: limit, connection)
            }
            guard filter.fate != "waiting" else { return waiting }
            var others = waiting.events
            if before == nil, let key = filter.key, filter.app == nil {
                for holder in try connection.run(EventsOfKey(key: key, type: filter.type)).prefix(Self.eventsOfKey) {
                    others += try connection.run(EventHead(id: holder.id)).map(\.event)
                }
            }
            others = others.filter(filter.takes)
            let until = try filter.until.flatMap { at throws(PostgresError) in
                try connection.run(EventIDAt(at: at)).first
            }
            let rows = try connection.run(
                FindEvents(
                    before: [before?.id, until].compactMap(\.self).min(),
                    since: filter.since,
                    type: filter.type,
                    key: filter.key,
                    fate: filter.fate,
                    app: filter.app,
                    limit: Int32(limit + 1)
                )
            )
            let (found, stop) = (rows.compactMap(\.found), rows.last?.stop)
            let shown = found.prefix(limit)
            let ids = Set(shown.map(\.id))
            let all = shown + Dictionary(others.map { ($0.id, $0) }) { $1 }.values.filter { !ids.contains($0.id) }
            return FoundEvents(
                events: all.sorted { $0.id > $1.id },
                next: (found.count > limit ? shown.last?.id : stop?.place).map { EventPlace(id: $0) },
                isMoreWaiting: waiting.next != nil,
                isStopped: stop != nil,
                searchedTo: stop?.at
            )
        }
    }

    /// Looks for events that wait.
    private static func waiting(
        _ filter: EventFilter,
        before: EventPlace?,
        limit: Int,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> FoundEvents {
        let rows = try connection.run(
            FindWaiting(
                type: filter.type,
                key: filter.key,
                app: filter.app,
                since: filter.since,
                until: filter.until,
                before: before,
                limit: Int32(limit + 1)
            )
        )
        let stop = rows.last.flatMap { $0.event == nil ? $0 : nil }
        let shown = rows.prefix(limit).filter { $0.event != nil }
        let isFull = rows.count > limit && stop == nil
        return FoundEvents(
            events: shown.compactMap(\.event),
            next: isFull ? shown.last?.place : stop?.place,
            isStopped: stop != nil,
            searchedTo: stop?.at
        )
    }

    /// What became of the pushes of some events, as far as a list tells.
    ///
    /// - Parameter ids: of the events.
    /// - Returns: by event and outcome; none of an event without pushes.
    /// - Throws: ``ToolError``.
    package func ends(of ids: [Int64]) async throws(ToolError) -> [EventEnds.Row] {
        guard !ids.isEmpty else { return [] }
        return try await run { connection throws(PostgresError) in try connection.run(EventEnds(of: ids)) }
    }

    /// Which events hold a key now.
    ///
    /// - Parameter key: the key.
    /// - Returns: at most a hundred, the newest first.
    /// - Throws: ``ToolError``.
    package func events(ofKey key: String) async throws(ToolError) -> [EventsOfKey.Row] {
        try await run { connection throws(PostgresError) in try connection.run(EventsOfKey(key: key, type: nil)) }
    }

    /// Looks up one event.
    ///
    /// - Parameter id: its id.
    /// - Returns: nil if there is none, or none any more.
    /// - Throws: ``ToolError``.
    package func eventHead(_ id: Int64) async throws(ToolError) -> FoundEvent? {
        try await run { connection throws(PostgresError) in try connection.run(EventHead(id: id)).first?.event }
    }

    /// What a cancellation of events would still stop.
    ///
    /// - Parameter ids: of the events.
    /// - Returns: one row for each.
    /// - Throws: ``ToolError``.
    package func unsent(of ids: [Int64]) async throws(ToolError) -> [ListUnsent.Row] {
        try await run { connection throws(PostgresError) in try connection.run(ListUnsent(events: ids)) }
    }

    /// Stops what is not sent of events.
    ///
    /// - Parameter ids: of the events; see ``unsent(of:)`` of which something is not sent.
    /// - Returns: how many they are.
    /// - Throws: ``ToolError``; nothing is stopped then.
    package func cancel(_ ids: [Int64]) async throws(ToolError) -> Int64 {
        try await change { connection throws(PostgresError) in
            try connection.run(CancelEvents(ids: ids)).first ?? 0
        } action: {
            ToolAction("event.cancel", ids.first.map { "\($0)" }, count: $0)
        }
    }
}
