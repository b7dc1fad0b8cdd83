public import ArgumentParser
public import FanfareCore
import FanfareService

/// `fanfare explain`: what a rule would send for an event.
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show what rules would send for an event; nothing is sent.",
        discussion: """
            Takes rules from files, or with --rule and --app from the database. The rule's `when` and its audience are not \
            looked at: they need the database's data. With --validate FCM is asked whether it would take its messages, which \
            it does not deliver.
            """
    )

    @OptionGroup var options: GlobalOptions

    @Argument(help: "YAML files with rules.")
    var files: [String] = []

    @Option(help: "Only this rule.")
    var rule: String?

    @Option(help: "Only of this app.")
    var app: String?

    @Option(help: "The event's payload, a JSON object.")
    var event = "{}"

    @Option(help: "The event's key.")
    var key: String?

    @Option(help: "The device's locale, such as es-MX.")
    var locale: String?

    @Option(help: "What the token is for: device, voip, live_activity …; by default what the rule is for.")
    var kind: DeviceKind?

    @Option(help: "The device's user.")
    var user: String?

    @Option(help: "The app's APNs topic, its bundle id; by default the configuration's.")
    var topic: String?

    @Flag(name: .customLong("validate"), help: "Ask FCM about its messages; needs the configuration.")
    var asksFCM = false

    @Option(help: "With --validate: address them to this registration token, not to one that nobody has.")
    var token: String?

    func validate() throws {
        if token != nil && !asksFCM { throw ValidationError("--token goes with --validate.") }
        if files.isEmpty && rule == nil { throw ValidationError("Give a file with rules, or --rule and --app.") }
    }

    func run() throws {
        var example = ExampleEvent(payload: event)
        example.key = key
        example.locale = locale
        example.kind = kind
        example.userID = user
        let configuration = options.namesDatabase || asksFCM ? try options.load() : nil
        let rules = try explainable(configuration)
        let explanations = try rules.explain(example) { app in
            topic ?? configuration?.apps[app]?.apns?.topic
        }
        var validations: [MessageValidation?] = []
        for explanation in explanations { validations.append(try ask(about: explanation, configuration)) }
        let all = zip(explanations, validations)
        try options.show(
            .array(all.map(Self.json)),
            all.map { ([$0.text] + [$1.map { "  \($0.detail)" }].compactMap(\.self)).joined(separator: "\n") }
                .joined(separator: "\n\n")
        )
        let isRefused = validations.contains { $0?.isTaken == false }
        if isRefused || explanations.contains(where: { $0.problem != nil }) { throw ExitCode.failure }
    }

    private func ask(
        about explanation: RuleExplanation,
        _ configuration: Configuration?
    ) throws -> MessageValidation? {
        guard asksFCM, let configuration else { return nil }
        return try explanation.validate(configuration, token: token, environment: options.environment)
    }

    private static func json(_ explanation: RuleExplanation, _ validation: MessageValidation?) -> JSONValue {
        guard let validation, var object = explanation.json.objectValue else { return explanation.json }
        object["validation"] = validation.json
        return .object(object)
    }

    private func explainable(_ configuration: Configuration?) throws -> RuleSet {
        guard files.isEmpty else { return try RuleSet(files: files).only(rule: rule, app: app) }
        let database = try ToolDatabase(configuration ?? options.load(), environment: options.environment)
        return try database.ruleSet(app: app).only(rule: rule, app: app)
    }
}

extension DeviceKind: ExpressibleByArgument {}
