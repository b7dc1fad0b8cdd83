/// Whom a rule does not disturb, as its author wrote it.
public struct RuleCalm: Equatable, Sendable {
    static let keys = ["category"]

    /// What its pushes are about, such as `marketing`, for users who want none of that; nil for what nobody can opt out of.
    public let category: String?

    init(_ reader: RuleObject) throws(RuleProblem) {
        category = try reader.string("category")
        if let category, !RuleNames.isLabel(category) {
            throw RuleProblem(
                path: reader.path("category"),
                reason: "cannot be a category",
                hint: RuleNames.labelHint
            )
        }
    }

    /// Refuses what is decided for each user where there is one request for all.
    func check(_ audience: AudienceDefinition) throws(RuleProblem) {
        guard let provider = audience.selection.provider, let key = json.keys.first else { return }
        throw RuleProblem(
            path: key,
            reason: "differs by user, but \(provider.rawValue) gets one request for all",
            hint: "remove it"
        )
    }

    /// Its keys as they would be written.
    var json: JSONObject {
        var object = JSONObject()
        object["category"] = category.map(JSONValue.string)
        return object
    }
}
