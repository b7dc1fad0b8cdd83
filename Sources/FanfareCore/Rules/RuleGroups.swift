/// The variants and the holdout of a rule, as written.
public struct RuleGroups: Equatable, Sendable {
    /// One variant of a rule's message.
    public struct Variant: Equatable, Sendable {
        /// The name, unique within the rule.
        public let name: String
        /// The share of the sum of all weights, from 0 to 1,000,000.
        public let weight: Int64
        /// The changes to `message`, merged over it (RFC 7396).
        public let message: JSONObject
        /// The changes to the rule's locales, by tag.
        public let locales: JSONObject
    }

    /// The limit of variants in a rule.
    public static let variantLimit = 16
    /// The name of the holdout group, which no variant may have.
    public static let holdoutName = "holdout"

    /// The variants in the order in which they were written; empty if all users get the same message.
    public let variants: [Variant]
    /// The share of users that get no push, up to 50 %; nil if not given.
    public let holdout: Percentage?

    /// Reads the keys of a rule that ``DefinitionObject/rule`` allows.
    init(_ rule: JSONObject) throws(RuleProblem) {
        variants = (rule["variants"]?.arrayValue ?? []).compactMap { $0.objectValue.map(Variant.init) }
        holdout = rule.text("holdout").flatMap(Percentage.init)
        try checkNames()
        guard variants.isEmpty || variants.contains(where: { $0.weight > 0 }) else {
            throw RuleProblem(
                path: "variants",
                reason: "have weights that sum to 0",
                hint: "give at least one a weight"
            )
        }
    }

    private func checkNames() throws(RuleProblem) {
        var seen: Set<String> = [Self.holdoutName]
        for (index, variant) in variants.enumerated() where !seen.insert(variant.name).inserted {
            let isReserved = variant.name == Self.holdoutName
            throw RuleProblem(
                path: "variants[\(index)].name",
                reason: isReserved ? "cannot be a name" : "is the name of another variant, too",
                hint: isReserved
                    ? "\(Self.holdoutName) is reserved for the control group" : "give each a name of its own"
            )
        }
    }

    /// Refuses variants and holdout for a rule with a single request for all users.
    func check(_ audience: AudienceDefinition) throws(RuleProblem) {
        guard let provider = audience.selection.provider, let key = json.keys.first else { return }
        throw RuleProblem(
            path: key,
            reason: "differs by user, but \(provider.rawValue) gets one request for all",
            hint: "remove it"
        )
    }

    /// The keys in the form of a rule.
    var json: JSONObject {
        var object = JSONObject()
        if !variants.isEmpty { object["variants"] = .array(variants.map(\.json)) }
        object["holdout"] = holdout.map { .string($0.text) }
        return object
    }
}

extension RuleGroups.Variant {
    fileprivate init(_ object: JSONObject) {
        name = object.text("name") ?? ""
        weight = object["weight"]?.numberValue?.integer ?? 1
        message = object["message"]?.objectValue ?? JSONObject()
        locales = object["locales"]?.objectValue ?? JSONObject()
    }

    /// The variant in the form of a rule.
    fileprivate var json: JSONValue {
        var object = JSONObject()
        object["name"] = .string(name)
        if weight != 1 { object["weight"] = JSONValue(integerLiteral: weight) }
        if !message.isEmpty { object["message"] = .object(message) }
        if !locales.isEmpty { object["locales"] = .object(locales) }
        return .object(object)
    }
}
