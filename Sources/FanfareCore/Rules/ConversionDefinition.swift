/// What a rule's pushes should lead to: an event of the same user, within some time.
public struct ConversionDefinition: Equatable, Sendable {
    /// The key in a rule.
    private static let key = "conversion"
    /// How long after a push an event counts, if the rule does not say.
    private static let standardWindow = TimeSpan(seconds: 86_400)

    /// The type of the events.
    public let event: String
    /// The path of the user in their payload, such as `$.new.customer_id`.
    public let user: String
    /// How long after a push an event counts.
    public let within: TimeSpan
    /// The path of a number in their payload, whose values are summed; nil to count only.
    public let value: String?

    /// Reads the options of a rule that ``DefinitionObject/rule`` allows.
    ///
    /// - Parameter rule: the rule.
    /// - Returns: nil if the rule has no conversion.
    /// - Throws: `RuleProblem` for a path that is more than names, and if nothing can be compared.
    static func read(_ rule: JSONObject) throws(RuleProblem) -> ConversionDefinition? {
        guard let object = rule[key]?.objectValue else { return nil }
        guard let user = try path(object, "user") else { return nil }
        guard rule["report"]?.boolValue == true || rule["holdout"] != nil else {
            throw RuleProblem(
                path: key,
                reason: "needs report: true or a holdout",
                hint: "without both, it is not known who opened a push or who got none"
            )
        }
        return ConversionDefinition(
            event: object.text("event") ?? "",
            user: user,
            within: object.text("within").flatMap { TimeSpan($0) } ?? standardWindow,
            value: try path(object, "value")
        )
    }

    private static func path(_ object: JSONObject, _ name: String) throws(RuleProblem) -> String? {
        guard let text = object.text(name) else { return nil }
        guard MemberPath(text)?.names != nil else {
            throw RuleProblem(
                path: "\(key).\(name)",
                reason: "is more than names",
                hint: "write names with dots between, as in $.new.\(name == "user" ? "customer_id" : "total")"
            )
        }
        return text
    }

    /// The names of the path ``user``.
    package var userPath: [String] { MemberPath(user)?.names ?? [] }
    /// The names of the path ``value``.
    package var valuePath: [String]? { value.flatMap { MemberPath($0)?.names } }

    /// The key in the form of a rule.
    var json: JSONObject {
        var inner = JSONObject()
        inner["event"] = .string(event)
        inner["user"] = .string(user)
        if within != Self.standardWindow { inner["within"] = .string(within.description) }
        inner["value"] = value.map { .string($0) }
        var object = JSONObject()
        object[Self.key] = .object(inner)
        return object
    }
}
