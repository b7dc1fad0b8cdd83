/// The audience of a rule, compiled for planning.
public enum AudiencePlan: Sendable {
    /// The users that a jsonpath finds in the payload.
    case users(path: String)
    /// The users that a query returns for the payload, which only PostgreSQL can evaluate.
    case usersSQL(String)
    /// The tokens that a jsonpath finds in the payload; unknown ones are registered for the provider.
    case tokens(path: String, provider: PushProvider)
    /// The subscribers of a topic; `TextTemplate.literal` is its name unless it is a template.
    case topic(TextTemplate)
    /// The devices that meet a condition; its clauses are fixed unless a name is a template.
    case condition(TopicCondition)
    /// Every device of the app.
    case everyone
    /// The event's users in `fanfare.audiences`.
    case staged
    /// An audience that a provider manages: no devices are expanded, and each event makes one request.
    case native(NativeAudience)

    /// Compiles `to`.
    package init(_ definition: AudienceDefinition) throws(RuleProblem) {
        let rulePath = definition.selection.rulePath
        switch definition.selection {
        case .users(let path): self = .users(path: path)
        case .usersSQL(let query): self = .usersSQL(query)
        case .tokens(let path):
            guard let provider = definition.provider else {
                throw RuleProblem(path: "to.provider", reason: "is missing", hint: "tokens need a provider")
            }
            self = .tokens(path: path, provider: provider)
        case .topic(let name): self = .topic(try Self.topic(name, path: rulePath))
        case .condition(let text): self = .condition(try Self.condition(text, path: rulePath))
        case .everyone: self = .everyone
        case .staged: self = .staged
        case .fcmTopic, .fcmCondition, .channel:
            guard let native = try NativeAudience(definition.selection) else {
                let hint = "name a topic, a condition or a channel"
                throw RuleProblem(path: "to", reason: "is kept by no provider", hint: hint)
            }
            self = .native(native)
        }
    }

    /// Whether `to` contains a template, so that the audience depends on the event.
    public var needsRendering: Bool {
        switch self {
        case .users, .usersSQL, .tokens, .everyone, .staged: false
        case .topic(let name): name.literal == nil
        case .condition(let condition): !condition.isLiteral
        case .native(let audience): audience.needsRendering
        }
    }

    /// Returns the topic name for an event.
    ///
    /// - Parameter context: the event.
    /// - Returns: the checked name; nil if the audience is not a topic.
    /// - Throws: `RenderProblem` if a value is missing or is not a topic name.
    public func topicName(_ context: RenderContext) throws(RenderProblem) -> String? {
        guard case .topic(let name) = self else { return nil }
        return try TopicName.render(name, in: TemplateScope(context: context, device: nil))
    }

    /// Returns the audience as rendered for an event: for one rule, equal texts mean the same audience.
    ///
    /// - Parameter context: the event.
    /// - Returns: the text, for ``CollapseKey``; nil for a jsonpath or a query that only PostgreSQL can evaluate.
    /// - Throws: `RenderProblem` if a value is missing or is not a topic name.
    package func renderedText(_ context: RenderContext) throws(RenderProblem) -> String? {
        switch self {
        case .users(let path), .tokens(let path, _):
            guard let path = MemberPath(path) else { return nil }
            let found = path.values(in: .object(context.payload)).map { String(decoding: $0.encoded, as: UTF8.self) }
            return found.sorted().joined(separator: ",")
        case .usersSQL: return nil
        case .everyone: return "everyone"
        case .staged: return "staged"
        case .condition(let condition): return try condition.renderedText(context)
        case .topic(let name): return try TopicName.render(name, in: TemplateScope(context: context, device: nil))
        case .native(let audience): return try audience.target(context).value
        }
    }

    /// Compiles a topic condition.
    static func condition(_ text: String, path: String) throws(RuleProblem) -> TopicCondition {
        do throws(ConditionProblem) {
            return try TopicCondition(text)
        } catch {
            throw RuleProblem(path: path, reason: "column \(error.column): \(error.reason)", hint: error.hint)
        }
    }

    /// Compiles a topic name.
    static func topic(_ name: String, path: String) throws(RuleProblem) -> TextTemplate {
        let template = try TextTemplate(name, path: path)
        guard !template.usesDevice else {
            throw RuleProblem(path: path, reason: "depends on a device", hint: "use names of the payload only")
        }
        guard TopicName.isPossible(template) else {
            throw RuleProblem(
                path: path,
                reason: "is not a topic name",
                hint: name.hasPrefix("/topics/")
                    ? "write it without /topics/" : "use 1 to \(TopicName.lengthLimit) of a-z A-Z 0-9 - _ . ~ %"
            )
        }
        return template
    }
}
