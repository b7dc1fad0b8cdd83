internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension ConsoleAction {
    /// Stops what is not sent of an event.
    static let cancelEvent = ConsoleAction(path: "/events/{id}/cancel", use: .cancel) { visit, form in
        let id = try visit.call.id("id")
        let event = try await visit.database.knownEvent(id)
        let unsent = UnsentEvents(try await visit.database.unsent(of: [id]), of: [event])
        let link = PageLink(name: event.type, href: "/events/\(id)")
        return ConfirmPage(
            frame: visit.frame("Cancel this event?", parent: link),
            words: unsent.words,
            count: unsent.count,
            counted: unsent.counted,
            warning: unsent.isNothing ? nil : "What is cancelled cannot go on. A replay emits it once more.",
            facts: [Fact(name: "Event", code: "\(id)"), Fact(name: "Type", words: event.type)]
                + (event.key.map { [Fact(name: "Key", code: $0)] } ?? []),
            samples: nil,
            action: form.action,
            kept: [],
            seal: form.seal,
            isReasonOptional: true,
            verb: "Cancel it",
            isDangerous: true,
            isImpossible: unsent.isNothing,
            cancel: "/events/\(id)"
        )
    } perform: { visit, database, _ in
        let id = try visit.call.id("id")
        return .done(try await database.cancel(id) ? "stopped" : "unchanged", at: "/events/\(id)")
    }

    /// Stops what is not sent of events that a filter takes.
    static let cancelEvents = ConsoleAction(path: "/events/cancel", use: .cancel) { visit, form in
        let search = try EventSearch.ofAction(visit)
        return .cancel(visit, form, search, try await CancelledEvents.find(search, upTo: nil, visit), isAgain: false)
    } perform: { visit, database, fields in
        var visit = visit
        visit.call.query = fields
        let search = try EventSearch.ofAction(visit)
        // Those that were asked about, and no event that came since.
        guard let highest = fields["highest"].flatMap({ Int64($0) }), let shown = fields["shown"].flatMap({ Int64($0) })
        else { throw Problem(.malformed, "the form is not complete", hint: "Load its page again.") }
        let found = try await CancelledEvents.find(search, upTo: highest, visit)
        guard Int64(found.unsent.ids.count) <= shown else {
            let page = ConfirmPage.cancel(visit, try await ActionForm(visit), search, found, isAgain: true)
            return .page(Console.templates.render("confirm", page))
        }
        guard !found.unsent.isNothing else { return .done("unchanged", at: "/events") }
        return .done("cancelled-\(try await database.cancel(found.unsent.ids))", at: "/events")
    }
}

/// Events of a filter, and what of them can still be stopped.
struct CancelledEvents {
    /// So many are cancelled at once.
    static let limit = 1_000

    let events: [FoundEvent]
    let unsent: UnsentEvents
    /// Whether the filter takes more than were looked at.
    let isMore: Bool

    /// Finds them.
    ///
    /// - Parameters:
    ///   - search: which.
    ///   - highest: the highest id there may be; nil for any.
    ///   - visit: by whom.
    /// - Returns: the newest.
    /// - Throws: ``ToolError``.
    static func find(_ search: EventSearch, upTo highest: Int64?, _ visit: Visit) async throws -> CancelledEvents {
        let filter = search.filter ?? EventFilter()
        let found = try await visit.database.events(filter, before: nil, limit: limit)
        let events = Array(found.events.filter { highest.map { [id = $0.id] in id <= $0 } ?? true }.prefix(limit))
        return CancelledEvents(
            events: events,
            unsent: UnsentEvents(try await visit.database.unsent(of: events.map(\.id)), of: events),
            isMore: found.next != nil || found.events.count > limit
        )
    }
}

/// What a cancellation would still stop.
struct UnsentEvents {
    /// Of which something is not sent.
    let ids: [Int64]
    private let waiting: Int
    private let planning: Int
    private let pairs: Int64
    private let inFlight: Int64
    /// Those of which something may wait that was not looked at.
    private let unknown: Int
    private let isMore: Bool

    /// Adds up.
    ///
    /// - Parameters:
    ///   - rows: a part of what waits: of very much not all is looked at.
    ///   - events: what is known of them besides.
    init(_ rows: [ListUnsent.Row], of events: [FoundEvent]) {
        let waits = Set(events.filter { $0.fate == "waiting" }.map(\.id))
        let over = Set(events.filter(\.isOver).map(\.id))
        func isWaiting(_ row: ListUnsent.Row) -> Bool { row.isWaiting || waits.contains(row.event) }
        func isKnown(_ row: ListUnsent.Row) -> Bool { isWaiting(row) || row.isPlanning || row.pairs > 0 }
        let open = rows.filter { isKnown($0) || $0.isMore && !over.contains($0.event) }
        ids = open.map(\.event)
        (waiting, planning) = (open.count(where: isWaiting), open.count(where: \.isPlanning))
        (pairs, inFlight) = (open.reduce(0) { $0 + $1.pairs }, open.reduce(0) { $0 + $1.inFlight })
        unknown = open.count(where: { !isKnown($0) })
        isMore = open.contains(where: \.isMore)
    }

    /// Whether everything is sent, or over.
    var isNothing: Bool { ids.isEmpty }
    /// How many pushes are known.
    var count: String { FigureText.count(pairs) + (isMore ? "+" : "") }
    /// What they are.
    var counted: String { pairs == 1 && !isMore ? "push is not sent yet" : "pushes are not sent yet" }

    /// What will happen.
    var words: String {
        guard !isNothing else { return "Nothing of it waits: all is sent, or over." }
        var parts: [String] = []
        if waiting > 0 {
            parts.append(
                "\(FigureText.counted(Int64(waiting), "event is", "events are")) not planned yet and will not be."
            )
        }
        if planning > 0 {
            parts.append(
                "The audience of \(FigureText.counted(Int64(planning), "event")) is still being walked: nobody further comes."
            )
        }
        if pairs > 0 { parts.append("What waits is not sent.") }
        if unknown > 0 {
            parts.append(
                "So much waits that not all was looked at: of \(FigureText.counted(Int64(unknown), "event")) something may."
            )
        }
        if inFlight > 0 {
            parts.append(
                "\(FigureText.counted(inFlight, "push is", "pushes are")) with a daemon now and may still go out."
            )
        }
        return parts.joined(separator: " ")
    }
}

extension ConfirmPage {
    /// Asks about all events of a filter.
    fileprivate static func cancel(
        _ visit: Visit,
        _ form: ActionForm,
        _ search: EventSearch,
        _ found: CancelledEvents,
        isAgain: Bool
    ) -> ConfirmPage {
        let (unsent, list) = (found.unsent, PageAddress("/events", search.query).text)
        let open = Set(unsent.ids)
        let events = FigureText.counted(Int64(open.count), "event")
        let warnings = [
            isAgain ? "There is more to stop than when it was asked." : nil,
            found.isMore
                ? "The filter takes more: these are the newest \(FigureText.count(Int64(found.events.count))) that it takes. Cancel again for older ones."
                : nil,
            unsent.isNothing ? nil : "What is cancelled cannot go on. A replay emits an event once more.",
        ]
        let warning = warnings.compactMap(\.self).joined(separator: " ")
        return ConfirmPage(
            frame: visit.frame("Cancel \(events)?", parent: PageLink(name: "Events", href: list)),
            words: unsent.words,
            count: unsent.count,
            counted: "\(unsent.counted), of \(events)",
            warning: warning.isEmpty ? nil : warning,
            facts: search.query.sorted { $0.key < $1.key }.map { Fact(name: $0.key, words: $0.value) },
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
                HiddenField(name: "highest", value: "\(found.events.map(\.id).max() ?? 0)"),
                HiddenField(name: "shown", value: "\(open.count)"),
            ],
            seal: form.seal,
            isReasonOptional: true,
            verb: "Cancel \(events)",
            isDangerous: true,
            isImpossible: unsent.isNothing,
            cancel: list
        )
    }
}

extension EventSearch {
    /// Reads the filter of an action.
    ///
    /// - Parameter visit: of the action.
    /// - Returns: the filter.
    /// - Throws: a ``Problem`` if it is none: nobody cancels everything by leaving a field empty.
    fileprivate static func ofAction(_ visit: Visit) throws -> EventSearch {
        // An app that is not there has no types, and so nothing to cancel.
        let search = EventSearch(visit, apps: visit.filter("app").map { [$0] } ?? [])
        guard search.filter != nil, search.isFiltered else {
            throw Problem(
                .malformed,
                "there is no filter that can be used",
                hint: "Go back to the events, and filter them."
            )
        }
        return search
    }
}

extension ToolDatabase {
    /// Looks up an event that has to be there.
    func knownEvent(_ id: Int64) async throws -> FoundEvent {
        guard let event = try await eventHead(id) else {
            throw Problem(.absent, "there is no event \(id)", hint: "It may be over: see retention.log.")
        }
        return event
    }
}
