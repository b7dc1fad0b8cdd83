internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of events, newest first.
    static let events = ConsolePage("/events", .events) { visit in
        let search = EventSearch(visit, apps: try await visit.apps())
        let list = PageAddress("/events", search.query).text
        let cursor = visit.filter("after")
        var found = FoundEvents(rows: [], next: nil)
        var next: String?
        if let filter = search.filter {
            let cursors = visit.call.context.cursors
            var place: EventPlace?
            if let cursor { place = try await EventPlace(cursor, of: list, cursors) }
            found = try await visit.database.events(filter, before: place, limit: 50)
            if let place = found.next { next = visit.address(["after": try await place.sealed(of: list, cursors)]) }
        }
        let planned = found.rows.filter { $0.fate == "planned" }.map(\.id)
        let ends = Dictionary(
            grouping: planned.isEmpty ? [] : try await visit.database.rows(of: SQL.eventEnds(planned)),
            by: \.event
        )
        return EventListPage(
            // Older parts of the list do not change.
            frame: visit.frame("Events", isLive: cursor == nil && !found.rows.isEmpty),
            filter: search.form,
            rows: found.rows.map { EventLine($0, EventSummary(ends[$0.id] ?? [])) },
            pager: Pager(
                shown: FigureText.counted(Int64(found.rows.count), "event")
                    + (found.isMoreWaiting ? "; of those not planned yet the newest" : ""),
                first: cursor == nil ? nil : visit.address([:]),
                next: found.isStopped ? nil : next,
                searchedTo: found.isStopped ? found.searchedTo.map { Moment($0.microseconds, .short) } : nil,
                further: found.isStopped ? next : nil
            ),
            actions: [.cancelEvents(visit, search)],
            empty: found.rows.isEmpty ? .events(search, found) : nil
        )
    }
}

extension EventPlace {
    /// Opens a sealed position in the list.
    ///
    /// - Parameters:
    ///   - text: the sealed position, from the address or a form.
    ///   - list: the list that the position belongs to.
    ///   - cursors: the key that sealed it.
    /// - Throws: a ``Problem`` for a value that this console did not seal.
    init(_ text: String, of list: String, _ cursors: CursorKey) async throws {
        let place = try await cursors.open(text, count: 2, of: list)
        self.init(transaction: place[0] == 0 ? nil : place[0], id: place[1])
    }

    /// Seals a position for an address or a form.
    ///
    /// - Parameters:
    ///   - list: the list that the position belongs to.
    ///   - cursors: the key that seals it.
    /// - Returns: the text that ``init(_:of:_:)`` reads.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func sealed(of list: String, _ cursors: CursorKey) async throws -> String {
        try await cursors.seal([transaction ?? 0, id], of: list)
    }
}

extension EventLine {
    /// Shows an event.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - summary: the outcomes of its pushes.
    init(_ event: FoundEvent, _ summary: EventSummary) {
        self.init(
            id: "\(event.id)",
            href: "/events/\(event.id)",
            type: event.type,
            key: event.key,
            at: Moment(event.createdAt.microseconds, .exact),
            fate: summary.badge(fate: event.fate),
            detail: event.detail ?? event.replayOf.map { "replay of \($0)" }
        )
    }
}

extension ActionLink {
    /// Returns the action that cancels all events of a filter.
    fileprivate static func cancelEvents(_ visit: Visit, _ search: EventSearch) -> ActionLink {
        let refusal =
            search.isFiltered
            ? visit.refusal(.cancel) ?? (search.filter == nil ? "fix the filter first" : nil) : "filter them first"
        return ActionLink("Cancel these", PageAddress("/events/cancel", search.query).text, .bad, refused: refusal)
    }
}

extension Empty {
    /// Returns the text for a list without events.
    fileprivate static func events(_ search: EventSearch, _ found: FoundEvents) -> Empty {
        guard search.filter != nil else {
            return .mistaken
        }
        guard !found.isStopped else {
            return Empty(
                title: "No match yet",
                words: "No match among the last 20,000 events. Continue searching below.",
                command: nil
            )
        }
        guard search.isFiltered else {
            return Empty(
                title: "No events yet",
                words: "Events are kept for retention.log. Emit the first one:",
                command: #"fanfare emit order.shipped '{"order_id": 1}'"#
            )
        }
        return Empty(
            title: "No event matches",
            words:
                "Check the spelling of type and key. Events older than retention.log are deleted.",
            command: nil
        )
    }
}
