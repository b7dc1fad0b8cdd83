internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsoleAction {
    /// Cancels the pending pushes of an event.
    static let cancelEvent = ConsoleAction(path: "/events/{id}/cancel", use: .cancel) { visit, form in
        let id = try visit.call.id("id")
        let event = try await visit.database.knownEvent(id)
        let unsent = UnsentEvents(try await visit.database.rows(of: SQL.listUnsent([id])), of: [event])
        let link = PageLink(name: event.type, href: "/events/\(id)")
        return ConfirmPage(
            frame: visit.frame("Cancel this event?", parent: link),
            words: unsent.words,
            count: unsent.count,
            counted: unsent.counted,
            warning: unsent.isNothing ? nil : "This cannot be undone. A replay emits the event again.",
            facts: [Fact(name: "Event", code: "\(id)"), Fact(name: "Type", words: event.type)]
                + (event.key.map { [Fact(name: "Key", code: $0)] } ?? []),
            action: form.action,
            seal: form.seal,
            verb: "Cancel it",
            isDangerous: true,
            isImpossible: unsent.isNothing,
            cancel: "/events/\(id)"
        )
    } perform: { visit, database, _ in
        let id = try visit.call.id("id")
        return .done(try await database.cancel(id) ? "stopped" : "unchanged", at: "/events/\(id)")
    }

    /// Cancels the pending pushes of the events of a filter, about 1,000 events at a time.
    static let cancelEvents = ConsoleAction(path: "/events/cancel", use: .cancel) { visit, form in
        let search = try EventSearch.ofAction(visit)
        let list = PageAddress("/events/cancel", search.query).text
        let place = try await visit.place(in: list, count: 2).map(EventPlace.init)
        let found = try await CancelledEvents.find(search.filter ?? EventFilter(), behind: place, visit.database)
        let next = try await visit.sealed(found.next?.numbers, in: list)
        return .cancel(visit, form, search, found, next: next)
    } perform: { visit, database, fields in
        var visit = visit
        visit.call.query = fields
        let search = try EventSearch.ofAction(visit)
        // The events that the confirmation listed, without those that came or were planned since.
        let ids = (fields["events"] ?? "").split(separator: ".").map { Int64($0) }
        guard !ids.isEmpty, !ids.contains(nil) else {
            throw Problem(.malformed, "the form is not complete", hint: "Load its page again.")
        }
        let done = "cancelled-\(try await database.cancel(ids.compactMap(\.self)))"
        guard let next = visit.filter("next") else { return .done(done, at: "/events", search.query) }
        return .done(done, at: "/events/cancel", search.query.merging(["after": next]) { $1 })
    }
}

/// Events of a filter with pending pushes.
private struct CancelledEvents {
    /// The number of events cancelled at once, about.
    private static let limit = 1_000
    /// The number of parts of ``limit`` events without pending pushes that are skipped before the search stops.
    private static let parts = 10

    let events: [FoundEvent]
    let unsent: UnsentEvents
    /// The position behind which the filter may find more; nil at the end.
    let next: EventPlace?

    /// Finds the next events with pending pushes.
    ///
    /// - Parameters:
    ///   - filter: the filter.
    ///   - place: the ``next`` of the previous result; nil for the newest events.
    ///   - database: the database.
    /// - Returns: the events, unplanned ones first; an empty result with a ``next`` does not mean that there are none.
    /// - Throws: ``ToolError``.
    static func find(
        _ filter: EventFilter,
        behind place: EventPlace?,
        _ database: ToolDatabase
    ) async throws -> CancelledEvents {
        var place = place
        for _ in 0..<parts {
            let part = try await part(filter, behind: place, database)
            let unsent = UnsentEvents(try await database.rows(of: SQL.listUnsent(part.rows.map(\.id))), of: part.rows)
            guard unsent.isNothing, part.next != nil else {
                return CancelledEvents(events: part.rows, unsent: unsent, next: part.next)
            }
            place = part.next
        }
        return CancelledEvents(events: [], unsent: UnsentEvents([], of: []), next: place)
    }

    /// Reads one part: all unplanned events before events of the log, which the page's list mixes.
    private static func part(
        _ filter: EventFilter,
        behind place: EventPlace?,
        _ database: ToolDatabase
    ) async throws -> FoundEvents {
        guard filter.fate == nil, place == nil || place?.transaction != nil else {
            return try await database.events(filter, before: place, limit: limit)
        }
        var queued = filter
        queued.fate = "waiting"
        let waiting = try await database.events(queued, before: place, limit: limit)
        guard waiting.next == nil else { return waiting }
        let top = EventPlace(id: .max)
        guard waiting.rows.count < limit else {
            return FoundEvents(rows: waiting.rows, next: top)
        }
        let log = try await database.events(
            filter,
            before: place == nil ? nil : top,
            limit: limit - waiting.rows.count
        )
        let ids = Set(waiting.rows.map(\.id))
        return FoundEvents(
            rows: waiting.rows + log.rows.filter { !ids.contains($0.id) },
            next: log.next,
            searchedTo: log.searchedTo,
            isStopped: log.isStopped
        )
    }
}

/// The pushes and events that a cancellation would still stop.
struct UnsentEvents {
    /// The events with pending pushes.
    let ids: [Int64]
    private let waiting: Int
    private let planning: Int
    private let deliveries: Int64
    private let inFlight: Int64
    /// The number of events that may have pending pushes beyond the rows that were read.
    private let unknown: Int
    private let isMore: Bool

    /// Sums the rows.
    ///
    /// - Parameters:
    ///   - rows: pending pushes; of a very large backlog only a part.
    ///   - events: the events.
    init(_ rows: [ListUnsentRow], of events: [FoundEvent]) {
        let waits = Set(events.filter { $0.fate == "waiting" }.map(\.id))
        let over = Set(events.filter(\.isOver).map(\.id))
        func isWaiting(_ row: ListUnsentRow) -> Bool { row.isWaiting || waits.contains(row.event) }
        func isKnown(_ row: ListUnsentRow) -> Bool { isWaiting(row) || row.isPlanning || row.deliveries > 0 }
        let open = rows.filter { isKnown($0) || $0.isMore && !over.contains($0.event) }
        ids = open.map(\.event)
        (waiting, planning) = (open.count(where: isWaiting), open.count(where: \.isPlanning))
        (deliveries, inFlight) = (open.reduce(0) { $0 + $1.deliveries }, open.reduce(0) { $0 + $1.inFlight })
        unknown = open.count(where: { !isKnown($0) })
        isMore = open.contains(where: \.isMore)
    }

    /// Whether every push is sent or has ended.
    var isNothing: Bool { ids.isEmpty }
    /// The number of pending pushes, with `+` if there are more.
    var count: String { FigureText.count(deliveries) + (isMore ? "+" : "") }
    /// The noun and verb that follow the count.
    var counted: String { deliveries == 1 && !isMore ? "push is not sent yet" : "pushes are not sent yet" }

    /// The effect of the cancellation, in sentences.
    var words: String {
        guard !isNothing else { return "Nothing is pending: all was sent or has ended." }
        var parts: [String] = []
        if waiting > 0 {
            parts.append(
                "\(FigureText.counted(Int64(waiting), "event is", "events are")) not planned yet and will not be."
            )
        }
        if planning > 0 {
            parts.append(
                "The audience of \(FigureText.counted(Int64(planning), "event")) is still being expanded: no further device is added."
            )
        }
        if deliveries > 0 { parts.append("Pending pushes are not sent.") }
        if unknown > 0 {
            parts.append(
                "Too much is pending to check all of it: \(FigureText.counted(Int64(unknown), "event")) may have pending pushes."
            )
        }
        if inFlight > 0 {
            parts.append(
                "\(FigureText.counted(inFlight, "push is", "pushes are")) being sent now and may still go out."
            )
        }
        return parts.joined(separator: " ")
    }
}

extension ConfirmPage {
    /// Creates the page that confirms the cancellation of all events of a filter.
    fileprivate static func cancel(
        _ visit: Visit,
        _ form: ActionForm,
        _ search: EventSearch,
        _ found: CancelledEvents,
        next: String?
    ) -> ConfirmPage {
        let (unsent, list) = (found.unsent, PageAddress("/events", search.query).text)
        let open = Set(unsent.ids)
        let events = FigureText.counted(Int64(open.count), "event")
        let warnings = [
            next != nil && !unsent.isNothing ? "The filter may match more: older events are asked about next." : nil,
            unsent.isNothing ? nil : "This cannot be undone. A replay emits an event again.",
        ]
        let warning = warnings.compactMap(\.self).joined(separator: " ")
        var facts = search.query.sorted { $0.key < $1.key }.map { Fact(name: $0.key, words: $0.value) }
        if let next {
            let href = PageAddress(visit.call.path, search.query.merging(["after": next]) { $1 }).text
            let name = unsent.isNothing ? "Check older events" : "Skip these"
            facts.append(Fact(name: "Older ones", link: PageLink(name: name, href: href)))
        }
        let isFirst = visit.filter("after") == nil
        return ConfirmPage(
            frame: visit.frame("Cancel \(events)?", parent: PageLink(name: "Events", href: list)),
            words: unsent.isNothing && next != nil
                ? "Nothing is pending of the events checked; older ones were not checked." : unsent.words,
            count: unsent.count,
            counted: "\(unsent.counted), of \(events)",
            warning: warning.isEmpty ? nil : warning,
            facts: facts,
            samples: SampleTable(
                heads: ["Event", "Type", "Key", "At"],
                rows: found.events.filter { open.contains($0.id) }.prefix(10).map {
                    SampleLine(
                        cells: [
                            "\($0.id)", $0.type, $0.key ?? "", Moment($0.createdAt.microseconds, .short).words,
                        ]
                    )
                }
            ),
            action: form.action,
            kept: search.query.sorted { $0.key < $1.key }.map { HiddenField(name: $0.key, value: $0.value) } + [
                HiddenField(name: "events", value: unsent.ids.map(String.init).joined(separator: ".")),
                HiddenField(name: "next", value: next ?? ""),
            ],
            seal: form.seal,
            verb: isFirst ? "Cancel \(events)" : "Cancel the next \(events)",
            isDangerous: true,
            isImpossible: unsent.isNothing,
            cancel: list
        )
    }
}

extension EventSearch {
    /// Reads the filter of an action.
    ///
    /// - Parameter visit: the action's visit.
    /// - Returns: the filter.
    /// - Throws: a ``Problem`` if it is invalid or empty: an empty field must not cancel every event.
    fileprivate static func ofAction(_ visit: Visit) throws -> EventSearch {
        // An app that does not exist has no event types, and so nothing to cancel.
        let search = EventSearch(visit, apps: visit.filter("app").map { [$0] } ?? [])
        guard search.filter != nil, search.isFiltered else {
            throw Problem(
                .malformed,
                "there is no usable filter",
                hint: "Go back to Events and set a filter."
            )
        }
        return search
    }
}

extension ToolDatabase {
    /// Returns an event, or throws if it does not exist.
    func knownEvent(_ id: Int64) async throws -> FoundEvent {
        guard let event = try await rows(of: SQL.eventHead(id)).first?.event else {
            throw Problem(.absent, "there is no event \(id)", hint: "It may have been deleted: see retention.log.")
        }
        return event
    }
}
