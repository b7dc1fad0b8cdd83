internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension ConsoleAction {
    /// Takes an event back from the devices that accepted it, and cancels its pending pushes.
    static let retractEvent = ConsoleAction(path: "/events/{id}/retract", use: .cancel) { visit, form in
        let id = try visit.call.id("id")
        let event = try await visit.database.knownEvent(id)
        let detail = try await visit.database.eventDetail(id, after: 0)
        let accepted = EventTally(detail.outcomes).accepted
        let unsent = UnsentEvents(try await visit.database.rows(of: SQL.listUnsent([id])), of: [event])
        let isNothing = accepted == 0 && unsent.isNothing
        let link = PageLink(name: event.type, href: "/events/\(id)")
        return ConfirmPage(
            frame: visit.frame("Take this event back?", parent: link),
            words: isNothing
                ? "Nothing is pending, and no device accepted it."
                : "Phones that accepted it get one silent push that lists the notification, if the rule has a collapse id; "
                    + "pages ask at their start. " + (unsent.isNothing ? "Nothing is pending." : unsent.words),
            count: FigureText.count(accepted) + (detail.next == nil ? "" : "+"),
            counted: accepted == 1 && detail.next == nil ? "device accepted it" : "devices accepted it",
            warning: isNothing ? nil : "Removal is best effort, and cannot be undone. A replay emits the event again.",
            facts: [Fact(name: "Event", code: "\(id)"), Fact(name: "Type", words: event.type)]
                + (event.key.map { [Fact(name: "Key", code: $0)] } ?? []),
            action: form.action,
            seal: form.seal,
            verb: "Take it back",
            isDangerous: true,
            isImpossible: isNothing,
            cancel: "/events/\(id)"
        )
    } perform: { visit, database, _ in
        let id = try visit.call.id("id")
        return .done(try await database.retract(id) ? "retracted" : "unchanged", at: "/events/\(id)")
    }
}
