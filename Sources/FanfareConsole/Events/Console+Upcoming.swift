internal import FanfareConfiguration
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of scheduled events, the next first.
    static let upcoming = ConsolePage("/upcoming", "upcoming") { visit in
        let form = FilterForm(
            visit,
            [
                .typed("type", "Type", visit, example: "order.shipped"),
                .chosen("app", "App", try await visit.apps(), visit),
                .typed("user", "User", visit),
            ]
        )
        let names = ["type", "app", "user"]
        let query = Dictionary(uniqueKeysWithValues: names.compactMap { name in visit.filter(name).map { (name, $0) } })
        let list = PageAddress("/upcoming", query).text
        var found = FoundPage<ScheduledEvent, [Int64]>(rows: [], next: nil)
        if !form.isMistaken {
            found = try await visit.database.scheduled(
                ofType: query["type"],
                app: query["app"],
                user: query["user"],
                after: try await visit.place(in: list, count: ToolDatabase.placeOfScheduled),
                limit: 50
            )
        }
        var pager = Pager(
            shown: FigureText.counted(Int64(found.rows.count), "event"),
            first: visit.filter("after") == nil ? nil : visit.address([:]),
            next: try await visit.address(of: found.next, in: list),
            isStopped: found.isStopped
        )
        pager.isAscending = true
        return UpcomingPage(
            frame: visit.frame("Upcoming", parent: PageLink(name: "Events", href: "/events"), isLive: false),
            filter: form,
            rows: found.rows.map(UpcomingLine.init),
            pager: pager,
            empty: found.rows.isEmpty ? .upcoming(form, isStopped: found.isStopped) : nil
        )
    }
}

/// `/upcoming`: the list of scheduled events, the next first.
struct UpcomingPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let rows: [UpcomingLine]
    let pager: Pager
    let empty: Empty?
}

/// One scheduled event in a list.
struct UpcomingLine: ViewContext {
    let id: String
    /// The page that confirms its cancellation.
    let href: String
    let type: String
    let key: String?
    let at: Moment
    /// What recipients' clocks show when it is due; nil if it is due for all at once.
    let local: String?
}

extension UpcomingLine {
    /// Shows a scheduled event.
    init(_ event: ScheduledEvent) {
        self.init(
            id: "\(event.id)",
            href: "/upcoming/\(event.id)/cancel",
            type: event.type,
            key: event.key,
            at: Moment(event.at.microseconds, .exact),
            local: event.wall.map { "\($0) on each recipient's clock" }
        )
    }
}

extension Empty {
    /// Returns the text for a list without events.
    fileprivate static func upcoming(_ form: FilterForm, isStopped: Bool) -> Empty {
        guard !form.isMistaken else { return .mistaken }
        guard !isStopped else {
            return Empty(
                title: "No match yet",
                words: "No match among the next 20,000 scheduled events. Continue searching below."
            )
        }
        guard !form.isActive else {
            return Empty(title: "No scheduled event matches", words: "Check the spelling of type and user.")
        }
        return Empty(
            title: "No event is scheduled",
            words: "Schedule the first one:",
            command: #"fanfare emit order.reminder '{"order_id": 1}' --at 4h"#
        )
    }
}

extension ConsoleAction {
    /// Cancels a scheduled event.
    static let cancelScheduled = ConsoleAction(path: "/upcoming/{id}/cancel", use: .cancel) { visit, form in
        let event = try await visit.database.scheduled(visit.call.id("id"))
        return ConfirmPage(
            frame: visit.frame("Cancel this event?", parent: PageLink(name: "Upcoming", href: "/upcoming")),
            words: "It will not be emitted.",
            count: "1",
            counted: "event is scheduled",
            warning: "This cannot be undone.",
            facts: [
                Fact(name: "Scheduled as", code: "\(event.id)"), Fact(name: "Type", words: event.type),
                Fact(name: "Due", time: Moment(event.at.microseconds, .exact)),
            ] + (event.key.map { [Fact(name: "Key", code: $0)] } ?? []),
            action: form.action,
            seal: form.seal,
            verb: "Cancel it",
            isDangerous: true,
            isImpossible: false,
            cancel: "/upcoming"
        )
    } perform: { visit, database, _ in
        .done(try await database.cancel(visit.call.id("id")) ? "stopped" : "unchanged", at: "/upcoming")
    }
}
