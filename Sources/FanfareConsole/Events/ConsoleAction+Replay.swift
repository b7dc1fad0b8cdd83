internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools

extension ConsoleAction {
    /// Re-emits a logged event.
    static let replayEvent = ConsoleAction(path: "/events/{id}/replay", use: .replay) { visit, form in
        let id = try visit.call.id("id")
        let (user, app) = (visit.filter("user"), visit.filter("app"))
        let event = try await visit.database.knownEvent(id)
        let reach = try await ReplayReach(id, user: user, app: app, visit.database)
        let whom = user.map { "Only devices of \($0) get it" } ?? "Everyone it was for gets it again"
        let link = PageLink(name: event.type, href: "/events/\(id)")
        var facts = [Fact(name: "Event", code: "\(id)"), Fact(name: "Type", words: event.type)]
        if let user { facts.append(Fact(name: "User", words: user)) }
        if let app { facts.append(Fact(name: "App", words: app)) }
        let isWaiting = event.fate == "waiting"
        let isNobody = user != nil && reach.deliveries == 0
        return ConfirmPage(
            frame: visit.frame(user == nil ? "Replay this event?" : "Replay this event to one user?", parent: link),
            words: isWaiting
                ? "It is not planned yet and will be sent anyway."
                : isNobody
                    ? "No device of \(user ?? "") gets pushes now: see People for what is registered."
                    : "\(whom), by the rules in force now; a new event is emitted with the same payload.",
            count: FigureText.count(reach.deliveries) + (reach.isMore ? "+" : ""),
            counted: reach.counted,
            warning: user == nil && reach.deliveries > 0
                ? "Users who got it get it again. Replay to one user if only one missed it." : nil,
            facts: facts,
            action: form.action,
            kept: [("user", user), ("app", app), ("nonce", form.nonce)].compactMap { name, value in
                value.map { HiddenField(name: name, value: $0) }
            },
            seal: form.seal,
            verb: user == nil ? "Replay to all" : "Replay to this user",
            isDangerous: user == nil,
            isImpossible: isWaiting || isNobody,
            cancel: user.map { PageAddress.person($0, app: app, event: id) } ?? "/events/\(id)"
        )
    } perform: { visit, database, fields in
        let user = fields["user"].flatMap { $0.isEmpty ? nil : $0 }
        let app = fields["app"].flatMap { $0.isEmpty ? nil : $0 }
        let once = try RequestKey(form: fields, of: visit.call.path)
        let id = try await database.replay(visit.call.id("id"), to: user, app: app, once: once).get()
        return .done("replayed", at: "/events/\(id)")
    }
}

/// The number of deliveries that a replay may cause.
private struct ReplayReach {
    let deliveries: Int64
    let isMore: Bool
    /// The noun that follows the count.
    let counted: String

    /// Counts the current devices of one user, or else the deliveries of the original event.
    init(_ id: Int64, user: String?, app: String?, _ database: ToolDatabase) async throws {
        if let user {
            deliveries = Int64(try await database.liveDevices(of: user, app: app).count)
            isMore = false
            counted = deliveries == 1 ? "device can get it" : "devices can get it"
        } else {
            let detail = try await database.eventDetail(id, after: 0)
            deliveries = EventTally(detail.outcomes).deliveries
            isMore = detail.next != nil
            counted = deliveries == 1 ? "push was planned for it" : "pushes were planned for it"
        }
    }
}
