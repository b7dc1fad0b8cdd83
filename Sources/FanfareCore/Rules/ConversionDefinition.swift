/// What a rule's pushes should lead to: something that the same user does within some time.
public struct ConversionDefinition: Equatable, Sendable {
    /// How conversions are found.
    public enum Source: Equatable, Sendable {
        /// By the events of a type: the path of the user in their payload, and that of a number whose values are summed.
        case event(String, user: String, value: String?)
        /// By a query, which returns users, times and numbers.
        case sql(String)
    }

    /// The keys in a rule.
    private static let key = "conversion"
    private static let sqlKey = "conversion_sql"
    /// How long after a push a conversion counts, if the rule does not say.
    private static let standardWindow = TimeSpan(seconds: 86_400)

    /// How conversions are found.
    public let source: Source
    /// How long after a push a conversion counts.
    public let within: TimeSpan

    /// Reads the options of a rule that ``DefinitionObject/rule`` allows.
    ///
    /// - Parameter rule: the rule.
    /// - Returns: nil if the rule has no conversion.
    /// - Throws: `RuleProblem` for a path that is more than names, and if nothing can be compared.
    static func read(_ rule: JSONObject) throws(RuleProblem) -> ConversionDefinition? {
        guard rule[key] != nil || rule[sqlKey] != nil else { return nil }
        let object = rule[key]?.objectValue ?? JSONObject()
        let source: Source =
            if let text = rule.text(sqlKey) { try query(text, beside: object) } else { try event(object) }
        guard rule["report"]?.boolValue == true || rule["holdout"] != nil else {
            throw RuleProblem(
                path: rule[key] == nil ? sqlKey : key,
                reason: "needs report: true or a holdout",
                hint: "without both, it is not known who opened a push or who got none"
            )
        }
        return ConversionDefinition(
            source: source,
            within: object.text("within").flatMap { TimeSpan($0) } ?? standardWindow
        )
    }

    private static func event(_ object: JSONObject) throws(RuleProblem) -> Source {
        for name in ["event", "user"] where object[name] == nil {
            throw RuleProblem(
                path: "\(key).\(name)",
                reason: "is missing",
                hint: "say which event counts, or find conversions with \(sqlKey)"
            )
        }
        let user = try path(object, "user") ?? ""
        return .event(object.text("event") ?? "", user: user, value: try path(object, "value"))
    }

    private static func query(_ sql: String, beside object: JSONObject) throws(RuleProblem) -> Source {
        for name in ["event", "user", "value"] where object[name] != nil {
            throw RuleProblem(
                path: "\(key).\(name)",
                reason: "is beside \(sqlKey)",
                hint: "the query returns the users, times and values: remove one of the two"
            )
        }
        guard sql.utf8.count <= RuleDefinition.sqlLimit, sql.contains("$1"), !sql.utf8.contains(0) else {
            throw RuleProblem(
                path: sqlKey,
                reason: "is too long, or does not ask for $1",
                hint: "write SELECT customer_id, paid_at, total FROM public.orders WHERE paid_at >= $1"
            )
        }
        return .sql(sql)
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

    /// The type of the events; nil if a query finds conversions.
    package var eventType: String? {
        if case .event(let type, _, _) = source { type } else { nil }
    }

    /// The names of the path of the user; empty if a query finds conversions.
    package var userPath: [String] {
        if case .event(_, let user, _) = source { MemberPath(user)?.names ?? [] } else { [] }
    }

    /// The names of the path of the value; nil if there is none.
    package var valuePath: [String]? {
        if case .event(_, _, let value) = source { value.flatMap { MemberPath($0)?.names } } else { nil }
    }

    /// The keys in the form of a rule.
    var json: JSONObject {
        var (object, inner) = (JSONObject(), JSONObject())
        switch source {
        case .event(let type, let user, let value):
            inner["event"] = .string(type)
            inner["user"] = .string(user)
            inner["value"] = value.map { .string($0) }
        case .sql(let query):
            object[Self.sqlKey] = .string(query)
        }
        if within != Self.standardWindow { inner["within"] = .string(within.description) }
        if !inner.isEmpty { object[Self.key] = .object(inner) }
        return object
    }
}
