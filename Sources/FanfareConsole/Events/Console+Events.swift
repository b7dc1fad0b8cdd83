internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of events, newest first.
    static let events = ConsolePage("/events", "events", parts: ["live-rows": "event-rows"]) { visit in
        let search = EventSearch(visit, apps: try await visit.apps())
        let list = PageAddress("/events", search.query).text
        let isFirst = visit.filter("after") == nil
        var found = FoundEvents(rows: [], next: nil)
        if let filter = search.filter {
            let place = try await visit.place(in: list, count: 2).map(EventPlace.init)
            found = try await visit.database.events(filter, before: place, limit: 50)
        }
        let planned = found.rows.filter { $0.fate == "planned" }.map(\.id)
        let ends = Dictionary(
            grouping: planned.isEmpty ? [] : try await visit.database.rows(of: SQL.eventEnds(planned)),
            by: \.event
        )
        return EventListPage(
            // Older parts of the list do not change.
            frame: visit.frame("Events", isLive: isFirst && !found.rows.isEmpty),
            filter: search.form,
            rows: found.rows.map { EventLine($0, EventSummary(ends[$0.id] ?? [])) },
            pager: Pager(
                shown: FigureText.counted(Int64(found.rows.count), "event")
                    + (found.isMoreWaiting ? "; of those not planned yet the newest" : ""),
                first: isFirst ? nil : visit.address([:]),
                next: try await visit.address(of: found.next?.numbers, in: list),
                isStopped: found.isStopped,
                searchedTo: found.searchedTo
            ),
            actions: [.cancelEvents(visit, search)],
            empty: found.rows.isEmpty ? .events(search, found) : nil
        )
    }
}

extension EventPlace {
    /// The position as numbers.
    var numbers: [Int64] { [transaction ?? 0, id] }

    /// Reads the ``numbers`` of a position.
    init(_ numbers: [Int64]) {
        self.init(transaction: numbers[0] == 0 ? nil : numbers[0], id: numbers[1])
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
                words: "No match among the last 20,000 events. Continue searching below."
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
                "Check the spelling of type and key. Events older than retention.log are deleted."
        )
    }
}
