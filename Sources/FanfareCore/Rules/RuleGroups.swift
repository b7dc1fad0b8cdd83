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

    static let keys = ["variants", "holdout"]
    fileprivate static let variantKeys = ["name", "weight", "message", "locales"]
    fileprivate static let weights: ClosedRange<Int64> = 0...1_000_000
    private static let mostHeldOut: Int64 = 500_000
    /// The limit of variants in a rule.
    public static let variantLimit = 16
    /// The name of the holdout group, which no variant may have.
    public static let holdoutName = "holdout"

    /// The variants in the order in which they were written; empty if all users get the same message.
    public let variants: [Variant]
    /// The share of users that get no push, up to 50 %; nil if not given.
    public let holdout: Percentage?

    init(_ reader: RuleObject) throws(RuleProblem) {
        variants = try Self.variants(reader.object["variants"], path: reader.path("variants"))
        holdout = try Self.holdout(reader.object["holdout"], path: reader.path("holdout"))
    }

    private static func holdout(_ json: JSONValue?, path: String) throws(RuleProblem) -> Percentage? {
        guard let json else { return nil }
        guard let share = json.stringValue.flatMap(Percentage.init), share.perMillion <= mostHeldOut else {
            let hint = "write a share such as 5% or 0.5%"
            throw RuleProblem(path: path, reason: "is not a share from 0% to 50%", hint: hint)
        }
        return share
    }

    private static func variants(_ json: JSONValue?, path: String) throws(RuleProblem) -> [Variant] {
        guard let json else { return [] }
        guard let elements = json.arrayValue, !elements.isEmpty else {
            throw RuleProblem(
                path: path,
                reason: json.arrayValue == nil ? "is not a list" : "has no variant",
                hint: #"write [{"name": "short", "weight": 20, "message": {…}}, {"name": "plain", "weight": 80}]"#
            )
        }
        guard elements.count <= variantLimit else {
            throw RuleProblem(path: path, reason: "has \(elements.count)", hint: "a rule has \(variantLimit) at most")
        }
        var variants: [Variant] = []
        for (index, element) in elements.enumerated() {
            let path = "\(path)[\(index)]"
            guard element.objectValue != nil else {
                let hint = #"write {"name": "short", "weight": 20, "message": {…}}"#
                throw RuleProblem(path: path, reason: "is not an object", hint: hint)
            }
            let variant = try Variant(RuleObject(element, path: path))
            guard !variants.contains(where: { $0.name == variant.name }) else {
                let reason = "is the name of another variant, too"
                throw RuleProblem(path: "\(path).name", reason: reason, hint: "give each a name of its own")
            }
            variants.append(variant)
        }
        guard variants.contains(where: { $0.weight > 0 }) else {
            throw RuleProblem(path: path, reason: "have weights that sum to 0", hint: "give at least one a weight")
        }
        return variants
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
    fileprivate init(_ reader: RuleObject) throws(RuleProblem) {
        try reader.checkKeys(RuleGroups.variantKeys)
        let name = reader.object["name"]
        guard let text = name?.stringValue, RuleNames.isLabel(text), text != RuleGroups.holdoutName else {
            throw RuleProblem(
                path: reader.path("name"),
                reason: name == nil ? "is missing" : "cannot be a name",
                hint: RuleNames.labelHint + "; \(RuleGroups.holdoutName) is reserved for the control group"
            )
        }
        self.name = text
        let weight = reader.object["weight"].map { $0.numberValue?.integer ?? -1 } ?? 1
        guard RuleGroups.weights.contains(weight) else {
            throw RuleProblem(
                path: reader.path("weight"),
                reason: "is not a whole number from 0 to \(RuleGroups.weights.upperBound)",
                hint: "write which share of all weights together it gets, such as 20"
            )
        }
        self.weight = weight
        message = try Self.changes("message", reader)
        locales = try Self.changes("locales", reader)
    }

    private static func changes(_ key: String, _ reader: RuleObject) throws(RuleProblem) -> JSONObject {
        guard let value = reader.object[key] else { return JSONObject() }
        guard let object = value.objectValue else {
            throw RuleProblem(
                path: reader.path(key),
                reason: "is not an object",
                hint: "write what is different in it"
            )
        }
        return object
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
