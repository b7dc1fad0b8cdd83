internal import FanfareCore

/// The message of a rule or of one variant, with the changes of its locales; later parts are merged over earlier ones.
struct MessageEdition {
    /// The path of the message in the rule.
    let path: String
    let parts: [MessagePart]
    /// The parts that follow ``parts``, for each of the rule's tags.
    let overlays: [[MessagePart]]

    private init(path: String, parts: [MessagePart], overlays: [[MessagePart]]) {
        (self.path, self.parts, self.overlays) = (path, parts, overlays)
    }

    /// Creates the part of the message that all variants share.
    init(_ rule: RuleDefinition) throws(RuleProblem) {
        path = "message"
        parts = [try MessagePart(RuleObject(.object(rule.message), path: path), isOverlay: false)]
        var overlays: [[MessagePart]] = []
        for member in rule.locales.members { overlays.append([try Self.overlay(member, path: "locales")]) }
        self.overlays = overlays
    }

    /// Returns the message of one variant; its locales are merged last.
    ///
    /// - Parameters:
    ///   - variant: the variant.
    ///   - path: its path in the rule.
    ///   - tags: the rule's own tags, in the order of ``overlays``.
    /// - Returns: the variant's message.
    /// - Throws: `RuleProblem` with the first error.
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
