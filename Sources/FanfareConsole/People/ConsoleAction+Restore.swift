internal import FanfareConfiguration
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareStore
internal import FanfareTools

extension ConsoleAction {
    /// Restores devices that pruning disabled.
    static let restoreDevices = ConsoleAction(
        path: "/devices/restore",
        use: .restore,
        ask: { visit, form in
            let query = visit.call.query
            let until = query["until"] ?? PageTime(microseconds: visit.now).field
            let restoring = try Restoring(query, until: until, reason: query["reason"], at: visit.now)
            return try await restoring.question(visit, form)
        },
        perform: { visit, database, fields in
            // Not counted again: the range of times ends at the time of the confirmation, so that no other devices are
            // in it.
            let restoring = try Restoring(
                fields,
                until: fields["until"],
                reason: fields["disabled_for"],
                at: visit.now
            )
            let restored = try await database.restore(restoring.request, isDryRun: false)
            return .done("restored-\(restored.reduce(0) { $0 + $1.devices })", at: "/devices")
        }
    )
}

/// The devices to restore, as an address or a form names them.
private struct Restoring: Sendable {
    let request: RestoreRequest
    /// The start of the range of times, in microseconds since 1970.
    private let since: Int64
    /// The end of the range, in microseconds since 1970: devices disabled later were not part of the confirmation.
    private let until: Int64

    /// Reads the parameters.
    ///
    /// - Parameters:
    ///   - fields: `app` and `since`, and optionally `environment`.
    ///   - until: the end of the range: the time of the confirmation.
    ///   - reason: the reason for which devices were disabled; all reasons if it is missing or empty.
    ///   - now: the database's time, in microseconds since 1970.
    /// - Throws: a ``Problem`` if app or times are missing.
    init(_ fields: [String: String], until: String?, reason: String?, at now: Int64) throws {
        let fields = fields.filter { !$0.value.isEmpty && !$0.value.contains("\0") }
        guard let app = fields["app"], let since = fields["since"].flatMap({ PageTime($0, at: now) }),
            let until = until.flatMap({ PageTime($0, at: now) })
        else {
            throw Problem(
                .malformed,
                "app, since or until are missing, or one of these is not a time",
                hint: "Choose an app and “Disabled since” on the Devices page, and continue from there."
            )
        }
        (self.since, self.until) = (since.microseconds, until.microseconds)
        request = RestoreRequest(
            app: app,
            since: .time("\(since.field)Z"),
            until: "\(until.field)Z",
            reason: reason.flatMap { $0.isEmpty ? nil : $0 },
            environment: fields["environment"]
        )
    }

    /// Counts the devices and creates the confirmation.
    ///
    /// - Parameters:
    ///   - visit: the request's visit.
    ///   - form: the form of the confirmation.
    /// - Returns: the page.
    /// - Throws: ``ToolError``; of kind `usage` for an app, an environment or a reason that does not exist.
    func question(_ visit: Visit, _ form: ActionForm) async throws -> ConfirmPage {
        let counts = try await visit.database.restore(request, isDryRun: true)
        let count = counts.reduce(0) { $0 + $1.devices }
        let counted = FigureText.counted(count, "device")
        var filters = ["app": request.app, "state": "disabled", "since": PageTime(microseconds: since).field]
        filters["reason"] = request.reason
        let back = PageAddress("/devices", filters).text
        return ConfirmPage(
            frame: visit.frame(
                "Restore \(counted) of \(request.app)?",
                parent: PageLink(name: "Devices", href: back)
            ),
            words: count == 0
                ? "No device was disabled by a provider since then. Devices that users or apps unregistered stay disabled."
                : "They get pushes again; those whose token is gone will be disabled again.",
            count: FigureText.count(count),
            counted: count == 1 ? "device" : "devices",
            facts: facts(counts),
            action: form.action,
            kept: kept,
            seal: form.seal,
            verb: "Restore \(counted)",
            isDangerous: false,
            isImpossible: count == 0,
            cancel: back
        )
    }

    private func facts(_ counts: [(reason: String, devices: Int64)]) -> [Fact] {
        var facts = [
            Fact(name: "App", words: request.app), Fact(name: "Disabled since", time: Moment(since, .full)),
            Fact(name: "Disabled before", time: Moment(until, .full)),
        ]
        if let environment = request.environment { facts.append(Fact(name: "Environment", words: environment)) }
        return facts + counts.map { Fact(name: $0.reason, words: FigureText.counted($0.devices, "device")) }
    }

    private var kept: [HiddenField] {
        var fields = [
            HiddenField(name: "app", value: request.app),
            HiddenField(name: "since", value: PageTime(microseconds: since).field),
            HiddenField(name: "until", value: PageTime(microseconds: until).field),
        ]
        if let reason = request.reason { fields.append(HiddenField(name: "disabled_for", value: reason)) }
        if let environment = request.environment { fields.append(HiddenField(name: "environment", value: environment)) }
        return fields
    }
}
