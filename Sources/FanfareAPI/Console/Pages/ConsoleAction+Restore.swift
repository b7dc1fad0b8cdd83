internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import FanfareTools

extension ConsoleAction {
    /// Enables devices again that pruning had disabled.
    static let restoreDevices = ConsoleAction(
        path: "/devices/restore",
        use: .restore,
        ask: { visit, form in
            let query = visit.call.query
            let restoring = try Restoring(query, reason: query["reason"], at: visit.now)
            return try await restoring.question(visit, form)
        },
        perform: { visit, database, fields in
            let restoring = try Restoring(fields, reason: fields["disabled_for"], at: visit.now)
            let counted = try await restoring.count(visit)
            guard fields["count"] == String(counted) else {
                // Who said yes was told another number.
                let page = try await restoring.question(visit, ActionForm(visit), isAgain: true)
                return .page(Console.templates.render("confirm", page))
            }
            let restored = try await database.restore(restoring.request, isDryRun: false)
            return .done("restored-\(restored.reduce(0) { $0 + $1.devices })", at: "/devices")
        }
    )
}

/// Which devices are restored, as an address or a form says it.
private struct Restoring: Sendable {
    let request: RestoreRequest
    /// In microseconds since 1970.
    private let since: Int64

    /// Reads what to restore.
    ///
    /// - Parameters:
    ///   - fields: `app` and `since`, and if need be `environment`.
    ///   - reason: for which they were disabled; all reasons where it is missing or empty.
    ///   - now: by the database's clock, in microseconds since 1970.
    /// - Throws: a ``Problem`` where app or time are missing.
    init(_ fields: [String: String], reason: String?, at now: Int64) throws {
        let fields = fields.filter { !$0.value.isEmpty && !$0.value.contains("\0") }
        guard let app = fields["app"], let time = fields["since"].flatMap({ PageTime($0, at: now) }) else {
            throw Problem(
                .malformed,
                "app or since are missing, or since is no time",
                hint: "Choose an app and since when they were disabled on the page of devices, and go on from there."
            )
        }
        since = time.microseconds
        request = RestoreRequest(
            app: app,
            since: .time("\(time.field)Z"),
            reason: reason.flatMap { $0.isEmpty ? nil : $0 },
            environment: fields["environment"]
        )
    }

    /// How many there are.
    func count(_ visit: Visit) async throws -> Int64 {
        try await visit.database.restore(request, isDryRun: true).reduce(0) { $0 + $1.devices }
    }

    /// Says how many devices it would restore.
    ///
    /// - Parameters:
    ///   - visit: who asks.
    ///   - form: where the answer is sent.
    ///   - isAgain: whether another number was shown before.
    /// - Returns: the question.
    /// - Throws: ``ToolError``; of kind `usage` for an app, an environment or a reason that there is not.
    func question(_ visit: Visit, _ form: ActionForm, isAgain: Bool = false) async throws -> ConfirmPage {
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
                ? "None was disabled for what a provider said since then; those that users or apps unregistered stay disabled."
                : "The next push goes to them again; who is gone will be disabled again.",
            count: FigureText.count(count),
            counted: count == 1 ? "device" : "devices",
            warning: isAgain ? "There are others by now than you were shown: look at the number again." : nil,
            facts: facts(counts),
            samples: nil,
            action: form.action,
            kept: kept(count),
            seal: form.seal,
            isReasonOptional: true,
            verb: "Restore \(counted)",
            isDangerous: false,
            isImpossible: count == 0,
            cancel: back
        )
    }

    private func facts(_ counts: [(reason: String, devices: Int64)]) -> [Fact] {
        var facts = [
            Fact(name: "App", words: request.app), Fact(name: "Disabled since", time: Moment(since, .full)),
        ]
        if let environment = request.environment { facts.append(Fact(name: "Environment", words: environment)) }
        return facts + counts.map { Fact(name: $0.reason, words: FigureText.counted($0.devices, "device")) }
    }

    private func kept(_ count: Int64) -> [HiddenField] {
        var fields = [
            HiddenField(name: "app", value: request.app),
            HiddenField(name: "since", value: PageTime(microseconds: since).field),
            HiddenField(name: "count", value: String(count)),
        ]
        if let reason = request.reason { fields.append(HiddenField(name: "disabled_for", value: reason)) }
        if let environment = request.environment { fields.append(HiddenField(name: "environment", value: environment)) }
        return fields
    }
}
