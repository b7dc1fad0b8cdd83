internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareStore
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
            actions: [ActionLink("Upcoming", "/upcoming"), .cancelEvents(visit, search)],
            empty: found.rows.isEmpty ? .events(search, found) : nil
        )
    }
}

/// `/events`: the list of events, newest first.
struct EventListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let rows: [EventLine]
    let pager: Pager
    /// The actions on all events of the filter.
    let actions: [ActionLink]
    let empty: Empty?
}

extension EventPlace {
    /// The position as numbers.
    var numbers: [Int64] { [transaction ?? 0, id] }

    /// Reads the ``numbers`` of a position.
    init(_ numbers: [Int64]) {
        self.init(transaction: numbers[0] == 0 ? nil : numbers[0], id: numbers[1])
    }
}

/// One event in a list.
struct EventLine: ViewContext {
    let id: String
    let href: String
    let type: String
    let key: String?
    let at: Moment
    let fate: Badge
    /// The reason, if the fate does not say it.
    let detail: String?
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

/// The search that the page of events asks for.
struct EventSearch {
    let form: FilterForm
    /// The filter; nil if a field is invalid, which the form reports.
    let filter: EventFilter?
    /// Whether any filter is set.
    let isFiltered: Bool
    /// The filters by their names in the address.
    let query: [String: String]

    /// The fates, in the order of the list.
    private static let fates = ["waiting", "planned", "unmatched", "duplicate", "cancelled", "expired", "refused"]

    /// Reads the address.
    ///
    /// - Parameters:
    ///   - visit: the request's visit.
    ///   - apps: all apps.
    init(_ visit: Visit, apps: [String]) {
        func time(_ name: String) -> Timestamp? {
            visit.filter(name).flatMap { PageTime($0, at: visit.now) }.map { Timestamp(microseconds: $0.microseconds) }
        }
        var filter = EventFilter()
        (filter.type, filter.key) = (visit.filter("type"), visit.filter("key"))
        (filter.fate, filter.app) = (visit.filter("fate"), visit.filter("app"))
        (filter.since, filter.until) = (time("since"), time("until"))
        var order: String?
        if let since = filter.since, let until = filter.until, since >= until {
            order = "This must be after “From”."
        }
        form = FilterForm(
            visit,
            [
                .typed("type", "Type", visit, example: "order.shipped"),
                .typed("key", "Key", visit),
                .chosen("fate", "Fate", Self.fates, visit),
                .chosen("app", "App", apps, visit),
                .time("since", "From (UTC)", visit),
                .time("until", "Before (UTC)", visit, problem: order),
            ]
        )
        self.filter = form.isMistaken ? nil : filter
        let names = ["type", "key", "fate", "app", "since", "until"]
        query = Dictionary(uniqueKeysWithValues: names.compactMap { name in visit.filter(name).map { (name, $0) } })
        isFiltered = form.isActive
    }
}

/// The outcomes of an event's pushes, as a badge.
struct EventSummary: Sendable {
    private let rows: [EventEndsRow]

    /// Sums the counts.
    ///
    /// - Parameter rows: the counts of one event.
    init(_ rows: [EventEndsRow]) {
        self.rows = rows
    }

    private var deliveries: Int64 { rows.reduce(0) { $0 + $1.deliveries } }
    private var isPart: Bool { rows.contains(where: \.isPart) }

    /// Returns the event's badge in a list.
    ///
    /// - Parameter fate: the event's fate.
    /// - Returns: the badge; the fate's if no push was planned.
    func badge(fate: String) -> Badge {
        guard fate == "planned", let most = rows.max(by: { ($0.deliveries, $1.reason) < ($1.deliveries, $0.reason) })
        else {
            return fate == "waiting" ? Badge(.busy, "not planned yet") : Self.plain(fate)
        }
        if most.outcome == "gathered" { return Badge(.busy, "gathered") }
        if most.outcome == "not_reached" { return Badge(.quiet, "no device") }
        let accepted = count { $0.outcome == "accepted" }
        let held = count { PushText.badge($0.outcome, $0.reason).words == "held" }
        if held > 0, held == count({ !PushText.isFinal($0.outcome) }) { return Badge(.busy, words("held", held)) }
        if rows.contains(where: { !PushText.isFinal($0.outcome) }) { return Badge(.busy, "sending") }
        if accepted > 0 { return Badge(.good, words("delivered", accepted)) }
        return Badge(tone(most), words(PushText.badge(most.outcome, most.reason).words, most.deliveries))
    }

    /// Returns the badge of an event without pushes: unplanned, or its audience is still being expanded.
    private static func plain(_ fate: String) -> Badge {
        fate == "planned" ? Badge(.quiet, "planned") : PushText.badge(fate: fate)
    }

    private func tone(_ row: EventEndsRow) -> Tone { Tone(rawValue: PushText.badge(row.outcome).tone) ?? .quiet }

    private func count(_ isMeant: (EventEndsRow) -> Bool) -> Int64 {
        rows.reduce(0) { isMeant($1) ? $0 + $1.deliveries : $0 }
    }

    /// `delivered`, `delivered 3 of 4`, `delivered 2,970 of 3,000 counted`.
    private func words(_ word: String, _ count: Int64) -> String {
        if isPart { return "\(word) \(FigureText.count(count)) of \(FigureText.count(deliveries)) counted" }
        return count == deliveries ? word : "\(word) \(FigureText.count(count)) of \(FigureText.count(deliveries))"
    }
}
