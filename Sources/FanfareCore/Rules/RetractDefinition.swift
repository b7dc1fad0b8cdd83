/// The options of a rule whose pushes another event takes back.
public struct RetractDefinition: Equatable, Sendable {
    /// The key in a rule.
    private static let key = "retract_on"
    /// How old an event may be that is taken back, if the rule does not say.
    private static let standardWindow = TimeSpan(seconds: 86_400)

    /// The type of the events that take pushes back.
    public let event: String
    /// The path of the value that both payloads have in common.
    public let by: [String]
    /// The path of the user in the payload of the event that takes back; nil to take back for all users.
    public let user: [String]?
    /// How old an event may be that is taken back.
    public let within: TimeSpan

    /// Reads the options of a rule that ``DefinitionObject/rule`` allows.
    ///
    /// - Parameter rule: the rule.
    /// - Returns: nil if no event takes back its pushes.
    /// - Throws: `RuleProblem` for a template that is more than one name.
    static func read(_ rule: JSONObject) throws(RuleProblem) -> RetractDefinition? {
        guard let object = rule[key]?.objectValue else { return nil }
        guard let by = try path(object, "by") else { return nil }
        return RetractDefinition(
            event: object.text("event") ?? "",
            by: by,
            user: try path(object, "user"),
            within: object.text("within").flatMap { TimeSpan($0) } ?? standardWindow
        )
    }

    private static func path(_ object: JSONObject, _ name: String) throws(RuleProblem) -> [String]? {
        guard let text = object.text(name) else { return nil }
        let place = "\(key).\(name)"
        guard let path = try TextTemplate(text, path: place).payloadPath else {
            throw RuleProblem(
                path: place,
                reason: "is not one name of the payload",
                hint: #"write a single tag without text around it, such as "{{\#(name == "by" ? "room" : "user_id")}}""#
            )
        }
        return path
    }

    /// Checks the options beside the rest of the rule.
    ///
    /// - Parameter rule: the rule.
    /// - Throws: `RuleProblem` if its pushes cannot be taken back.
    func check(in rule: RuleDefinition) throws(RuleProblem) {
        guard rule.collapse != nil else {
            throw RuleProblem(
                path: Self.key,
                reason: "needs collapse",
                hint: "say by which identifier devices know the notification, as in collapse: \"room-{{room}}\""
            )
        }
        if let provider = rule.audience.selection.provider {
            throw RuleProblem(
                path: Self.key,
                reason: "needs the devices that were reached, which \(provider.rawValue) does not tell",
                hint: "remove it, or use users:, tokens:, topic: or condition:"
            )
        }
        guard rule.audience.kind == .device else {
            throw RuleProblem(
                path: Self.key,
                reason: "is for notifications, which pushes to \(rule.audience.kind.rawValue) tokens do not show",
                hint: "remove it, or leave out to.kind"
            )
        }
        guard rule.digest == nil else {
            throw RuleProblem(
                path: Self.key,
                reason: "is beside digest or debounce",
                hint: "a push for many events is not taken back by one value: remove one of the two"
            )
        }
    }

    /// Refuses the key in a definition whose pushes no event can take back.
    ///
    /// - Parameter campaign: the campaign's JSON.
    /// - Throws: `RuleProblem` if it has the key.
    package static func refuse(in campaign: JSONObject) throws(RuleProblem) {
        guard campaign[key] != nil else { return }
        throw RuleProblem(
            path: key,
            reason: "is not for campaigns",
            hint: "take a run back with fanfare.retract and the id of its event"
        )
    }

    /// The key in the form of a rule.
    var json: JSONObject {
        var inner = JSONObject()
        inner["event"] = .string(event)
        inner["by"] = .string(Self.tag(by))
        inner["user"] = user.map { .string(Self.tag($0)) }
        if within != Self.standardWindow { inner["within"] = .string(within.description) }
        var object = JSONObject()
        object[Self.key] = .object(inner)
        return object
    }

    private static func tag(_ path: [String]) -> String { "{{\(path.joined(separator: "."))}}" }
}

extension TextTemplate {
    /// The path in the payload if the template is a single name without transforms; nil for any other template.
    fileprivate var payloadPath: [String]? {
        guard let variable = soleVariable, variable.transforms.isEmpty, !variable.path.isRelative,
            !variable.path.components.isEmpty
        else { return nil }
        return variable.path.components
    }
}
