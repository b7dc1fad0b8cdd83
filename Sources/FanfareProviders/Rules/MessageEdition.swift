internal import FanfareCore

/// A rule's message, or one variant of it, with what its locales change: later parts are merged over earlier ones.
struct MessageEdition {
    /// Where it stands in the rule.
    let path: String
    let parts: [MessagePart]
    /// What comes after ``parts``, one for each of the rule's tags.
    let overlays: [[MessagePart]]

    private init(path: String, parts: [MessagePart], overlays: [[MessagePart]]) {
        (self.path, self.parts, self.overlays) = (path, parts, overlays)
    }

    /// What all variants of a rule's message have in common.
    init(_ rule: RuleDefinition) throws(RuleProblem) {
        path = "message"
        parts = [try MessagePart(RuleObject(.object(rule.message), path: path), isOverlay: false)]
        var overlays: [[MessagePart]] = []
        for member in rule.locales.members { overlays.append([try Self.overlay(member, path: "locales")]) }
        self.overlays = overlays
    }

    /// What one variant is; its locales come last.
    ///
    /// - Parameters:
    ///   - variant: what it changes.
    ///   - path: where it stands in the rule.
    ///   - tags: the rule's own, in the order of ``overlays``.
    /// - Returns: the variant's own message.
    /// - Throws: `RuleProblem` with the first thing that is wrong.
    func with(_ variant: RuleGroups.Variant, path: String, tags: [String]) throws(RuleProblem) -> MessageEdition {
        let reader = try RuleObject(.object(variant.message), path: "\(path).message")
        let own = try MessagePart(reader, isOverlay: true)
        var overlays = overlays
        for member in variant.locales.members {
            guard let index = tags.firstIndex(of: member.key) else {
                throw RuleProblem(
                    path: "\(path).locales.\(member.key)",
                    reason: "is none of the rule's locales",
                    hint: "add it to the rule's, which may be {}, or use one of these: \(tags.joined(separator: ", "))"
                )
            }
            overlays[index].append(try Self.overlay(member, path: "\(path).locales"))
        }
        return MessageEdition(path: path, parts: parts + [own], overlays: overlays)
    }

    private static func overlay(_ member: JSONObject.Member, path: String) throws(RuleProblem) -> MessagePart {
        try MessagePart(RuleObject(member.value, path: "\(path).\(member.key)"), isOverlay: true)
    }
}
