public import ArgumentParser
import FanfareConfiguration
public import FanfareCore
import FanfareExplain
internal import FanfareProviders
import FanfareService
import FanfareTools
import Foundation

/// `fanfare explain`: the rules that match an event, their audience, and the messages.
struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show which rules match an event, its audience, and the messages; nothing is sent.",
        discussion: """
            Takes rules from files, or those of the database. With --event and a database the `when` of each rule is judged \
            and its audience is counted; with --user it says for each device of the user whether it would get it, and if not, \
            why. Without a database it shows what each rule would send. With --validate FCM is asked whether it would take its \
            messages, which it does not deliver.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Argument(
        help: "YAML files with rules; - reads standard input; without one the database's rules are used.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String] = []

    @Option(help: "Only this rule.")
    var rule: String?

    @Option(help: "Only of this app.")
    var app: String?

    @Option(help: "Only rules for this type of event.")
    var type: String?

    @Option(help: "The event's payload, a JSON object; - reads standard input.")
    var event: String?

    @Option(help: "The event's key.")
    var key: String?

    @Option(help: "The device's locale, such as es-MX; by default that of the user's newest device.")
    var locale: String?

    @Option(help: "What the token is for: device, voip, live_activity …; by default what the rule is for.")
    var kind: DeviceKind?

    @Option(help: "The user to explain it for, with the reason if nothing is sent.")
    var user: String?

    @Option(help: "The app's APNs topic, its bundle id; by default the configuration's.")
    var topic: String?

    @Flag(name: .customLong("validate"), help: "Ask FCM about its messages; needs the configuration.")
    var asksFCM = false

    @Option(help: "With --validate: address them to this registration token, not to a dummy.")
    var token: String?

    func validate() throws {
        if token != nil && !asksFCM { throw ValidationError("--token goes with --validate.") }
        if (files + [event ?? ""]).count(where: { $0 == StandardInput.argument }) > 1 {
            throw ValidationError("Standard input can be read once: give one - only.")
        }
    }

    func run() async throws {
        var example = ExampleEvent(payload: try StandardInput.text(for: event ?? "{}"))
        example.key = key
        example.locale = locale
        example.kind = kind
        example.userID = user
        let configuration = options.namesDatabase || asksFCM ? try options.load(forDatabase: !asksFCM) : nil
        let rules = try await explainable(configuration)
        if locale == nil, let user, let configuration {
            example.locale = try await language(of: user, rules, configuration)
        }
        let judgements = try await judge(rules, example, configuration)
        let explanations = try (judgements.map(rules.matched) ?? rules).explain(example) { app in
            topic ?? configuration?.apps[app]?.apns?.topic
        } asksForPreview: { app in
            configuration?.apps[app]?.fcm?.usesAndroidV2 ?? false
        }
        let answers = try explanations.map { Answer($0, try ask(about: $0, configuration)) }
        let parts = judgements?.map { judgement in Part(judgement, answers) } ?? [Part(nil, answers)]
        try options.show(.array(parts.flatMap(\.json)), parts.map(\.text).joined(separator: "\n\n"))
        let isRefused = answers.contains { $0.validation?.isTaken == false || $0.explanation.problem != nil }
        if isRefused { throw ExitCode.failure }
    }

    /// Returns the locale of the user's newest enabled device; nil if there is none, or the query fails.
    private func language(of user: String, _ rules: RuleSet, _ configuration: Configuration) async throws -> String? {
        let database = try ToolDatabase(configuration, environment: options.environment)
        // An error here is reported by the next query.
        return try? await database.whileOpen { [app = app ?? rules.apps.first] database throws(ToolError) in
            try await database.locale(of: user, app: app)
        }
    }

    /// Judges the rules in the database; nil if no event is given, or there is no database.
    private func judge(
        _ rules: RuleSet,
        _ example: ExampleEvent,
        _ configuration: Configuration?
    ) async throws -> [RuleJudgement]? {
        guard event != nil, let configuration else { return nil }
        do throws(ToolError) {
            let database = try ToolDatabase(configuration, environment: options.environment)
            return try await database.whileOpen { database throws(ToolError) in
                try await database.judge(rules, example, configuration)
            }
        } catch {
            // The rules of files can be shown without the database.
            guard !files.isEmpty, error.kind != .usage else { throw error }
            let note = "fanfare: `when` and the audience were not evaluated: \(error.description)\n"
            FileHandle.standardError.write(Data(note.utf8))
            return nil
        }
    }

    private func ask(
        about explanation: RuleExplanation,
        _ configuration: Configuration?
    ) throws -> MessageValidation? {
        guard asksFCM, let configuration else { return nil }
        return try explanation.validate(configuration, token: token, environment: options.environment)
    }

    private func explainable(_ configuration: Configuration?) async throws -> RuleSet {
        guard files.isEmpty else { return try RuleSet(files: files).only(rule: rule, app: app, type: type) }
        let database = try ToolDatabase(
            configuration ?? options.load(forDatabase: true),
            environment: options.environment
        )
        let rules = try await database.whileOpen { database throws(ToolError) in
            try await database.ruleSet(app: app)
        }
        return try rules.only(rule: rule, app: app, type: type)
    }
}

/// The request of a rule through one provider, and the provider's validation.
private struct Answer {
    let explanation: RuleExplanation
    let validation: MessageValidation?

    init(_ explanation: RuleExplanation, _ validation: MessageValidation?) {
        self.explanation = explanation
        self.validation = validation
    }

    var text: String {
        [explanation.text, validation.map { "  \($0.detail)" }].compactMap(\.self).joined(separator: "\n")
    }
}

/// A rule with its judgement and messages; or all rules, if none was judged.
private struct Part {
    private let judgement: RuleJudgement?
    private let answers: [Answer]

    init(_ judgement: RuleJudgement?, _ answers: [Answer]) {
        self.judgement = judgement
        self.answers = answers.filter { answer in
            judgement.map { $0.app == answer.explanation.app && $0.rule == answer.explanation.rule } ?? true
        }
    }

    var text: String {
        ([judgement?.text].compactMap(\.self) + answers.map(\.text)).joined(separator: "\n\n")
    }

    /// One object for each provider, and one for a rule that sends nothing.
    var json: [JSONValue] {
        let objects = answers.map { answer in
            var object = answer.explanation.json.objectValue ?? JSONObject()
            object["validation"] = answer.validation?.json
            return object
        }
        guard let judgement else { return objects.map(JSONValue.object) }
        var bare = JSONObject()
        bare["app"] = .string(judgement.app)
        bare["rule"] = .string(judgement.rule)
        return (objects.isEmpty ? [bare] : objects).map { object in
            var object = object
            object["judgement"] = judgement.json
            return .object(object)
        }
    }
}

extension DeviceKind: ExpressibleByArgument {}
