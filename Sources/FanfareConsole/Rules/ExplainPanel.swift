internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareExplain
internal import FanfareHTTP
internal import FanfareTools

/// The trial of a rule with an event that is not emitted.
struct ExplainPanel: ViewContext {
    let action: String
    /// The event's payload, as typed.
    let payload: String
    let problem: String?
    /// The user whose preferences and locale apply.
    let user: TextField
    /// The proof that this browser was shown this page.
    let seal: String
    /// The result of the trial.
    let verdict: Notice?
    let conditions: [WhyCondition]
    let audience: [AudienceLine]
    /// Whether outcomes are shown: a trial has none, because nothing is sent.
    let hasOutcomes = false
    let previews: NotificationPreviews?
}

extension ExplainPanel {
    /// Creates the form for a trial event, with the result if one was sent.
    ///
    /// - Parameters:
    ///   - definition: the rule's definition in the shown version.
    ///   - version: the number of the shown version.
    ///   - visit: the request's visit.
    ///   - fields: the fields of the form; nil if none was sent.
    /// - Returns: the panel.
    /// - Throws: the database's error; errors in the event or the rule are shown in the panel.
    static func load(
        _ definition: JSONValue,
        version: Int32,
        _ visit: Visit,
        _ fields: [String: String]?
    ) async throws -> ExplainPanel {
        let payload = fields?["payload"] ?? "{}"
        let user = fields?["user"].flatMap { $0.isEmpty ? nil : $0 }
        var (trial, problem): (RuleTrial?, String?) = (nil, nil)
        if fields != nil {
            do throws(ToolError) {
                trial = try await visit.database.tryRule(
                    definition,
                    payload: payload,
                    user: user,
                    visit.call.context.daemon.configuration()
                )
            } catch {
                guard error.cause == nil, error.kind == .usage || error.kind == .failed else { throw error }
                problem = error.reason
            }
        }
        let query = visit.call.query.filter { $0.key == "version" }
        return ExplainPanel(
            action: PageAddress(visit.call.path, query).text + "#explain",
            payload: payload,
            problem: problem,
            user: TextField(
                name: "user",
                label: "As this user sees it",
                value: user ?? "",
                example: "any",
                hint: trial?.locale.map { "In \($0), as the newest device says" }
                    ?? "For devices, locale and preferences"
            ),
            seal: try await visit.session.seal(visit.call.path, visit.call),
            verdict: trial.map { Notice($0.judgement, version: version) },
            conditions: trial.map { WhyCondition.list($0.judgement) } ?? [],
            audience: trial.map { AudienceLine.list($0.judgement) } ?? [],
            previews: trial.flatMap { NotificationPreviews($0.messages) }
        )
    }
}

extension Notice {
    /// Describes what a rule would do, in a sentence or two.
    fileprivate init(_ judgement: RuleJudgement, version: Int32) {
        guard judgement.isMatched else {
            self.init(.quiet, "Version \(version) would not match.")
            return
        }
        var words = ["Version \(version) would match"]
        if let gathered = judgement.gathered {
            words.append(
                "it would be combined with others by “\(gathered.key)” and sent as one push \(gathered.leaves)"
            )
        }
        var tone = Tone.good
        switch judgement.audience {
        case .counted(let counts):
            words.append(
                "\(FigureText.counted(counts.devices, "device")) of \(FigureText.counted(counts.users, "user")) would get it"
            )
            if counts.disabled > 0 { words.append("disabled: \(FigureText.count(counts.disabled))") }
            words += counts.suppressedLines
            if !counts.withoutCredentials.isEmpty {
                words.append("no credentials for \(counts.withoutCredentials.joined(separator: ", "))")
            }
            if counts.devices == 0 || !counts.withoutCredentials.isEmpty { tone = .warn }
        case .kept(let provider): words.append("\(provider.rawValue) manages the audience: one request for everyone")
        case .asked: words.append("its query selects the audience when it runs")
        case .problem(let problem): (tone, words) = (.warn, words + ["no device would get it: \(problem)"])
        case nil: break
        }
        self.init(tone, words.joined(separator: "; ") + ".")
    }
}

/// A condition of a rule, and whether it holds.
struct WhyCondition: ViewContext {
    let badge: Badge
    let code: String
}

extension WhyCondition {
    /// Returns the rule's condition, and what each device of the given user would get.
    fileprivate static func list(_ judgement: RuleJudgement) -> [WhyCondition] {
        let when = judgement.when.map { code in
            [
                WhyCondition(
                    badge: judgement.isMatched ? Badge(.good, "true") : Badge(.quiet, "false"),
                    code: code
                )
            ]
        }
        guard let user = judgement.user, judgement.isMatched else { return when ?? [] }
        let devices = user.devices.map { device in
            WhyCondition(
                badge: device.obstacle == nil ? Badge(.good, "would get it") : Badge(.quiet, "would not"),
                code: "device \(device.id), \(device.provider)" + (device.obstacle.map { ": \($0)" } ?? "")
            )
        }
        let nobody = WhyCondition(badge: Badge(.warn, "no device"), code: "no device of \(user.id) is registered")
        return (when ?? []) + (devices.isEmpty ? [nobody] : devices)
    }
}

extension AudienceLine {
    /// Returns the number of devices per provider that a rule would reach; nothing is sent.
    fileprivate static func list(_ judgement: RuleJudgement) -> [AudienceLine] {
        guard case .counted(let counts)? = judgement.audience else { return [] }
        return counts.providers.map { provider in
            AudienceLine(
                app: judgement.app,
                provider: provider.name,
                environment: "",
                devices: FigureText.count(provider.devices),
                accepted: "",
                failed: "",
                bar: .none
            )
        }
    }
}
