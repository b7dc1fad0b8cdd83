/// The options of a rule that gathers events into digests: one push for many events.
public struct DigestDefinition: Equatable, Sendable {
    /// When a digest closes.
    public enum Pace: Equatable, Sendable {
        /// A fixed time after the first event of a key.
        case digest(every: TimeSpan)
        /// A time after the last event, but at most another time after the first.
        case debounce(wait: TimeSpan, longest: TimeSpan)
    }

    static let keys = ["digest", "debounce"]
    static let digestKeys = ["every", "by"]
    static let debounceKeys = ["wait", "by", "longest"]
    /// The longest time for which a digest is open.
    public static let limit = TimeSpan(seconds: 86_400)
    /// The maximum length of a key in bytes, limited by an index entry.
    package static let keyLimit = 2048
    /// The prefix of the event types of digests.
    private static let typePrefix = "digest."

    /// When a digest closes.
    public let pace: Pace
    /// A template: events with the same result join the same digest.
    public let by: String

    /// Parses the options of a rule.
    ///
    /// - Parameter rule: the rule.
    /// - Returns: nil if the rule has no digest.
    /// - Throws: `RuleProblem` with the first error.
    static func read(_ rule: RuleObject) throws(RuleProblem) -> DigestDefinition? {
        let given = keys.filter { rule.object[$0] != nil }
        guard let key = given.first, let json = rule.object[key] else { return nil }
        guard given.count == 1 else {
            throw RuleProblem(path: rule.path("debounce"), reason: "is beside digest", hint: "give one of the two")
        }
        let digest = try DigestDefinition(json, key: key, path: rule.path(key))
        if let event = rule.object["event"]?.stringValue, event.hasPrefix(typePrefix) {
            throw RuleProblem(
                path: rule.path("event"),
                reason: "is of events that were gathered",
                hint: "types that begin with \(typePrefix) are not gathered again: leave \(key) out"
            )
        }
        return digest
    }

    /// When a digest closes, as text for people.
    public var text: String {
        switch pace {
        case .digest(let every): "\(every) after the first of them"
        case .debounce(let wait, let longest): "\(wait) after the last of them, at most \(longest) after the first"
        }
    }

    /// The path of ``by`` in a rule, for `RuleProblem/path`.
    package var byPath: String {
        switch pace {
        case .digest: "digest.by"
        case .debounce: "debounce.by"
        }
    }

    private init(_ json: JSONValue, key: String, path: String) throws(RuleProblem) {
        let isDigest = key == "digest"
        guard json.objectValue != nil else {
            let time = isDigest ? #""every": "10m""# : #""wait": "30s""#
            throw RuleProblem(path: path, reason: "is not an object", hint: "write {\(time), \"by\": \"{{user_id}}\"}")
        }
        let reader = try RuleObject(json, path: path)
        try reader.checkKeys(isDigest ? Self.digestKeys : Self.debounceKeys)
        if isDigest {
            pace = .digest(every: try Self.span(reader, "every"))
        } else {
            let wait = try Self.span(reader, "wait")
            let longest = reader.object["longest"] == nil ? Self.limit : try Self.span(reader, "longest")
            guard longest.seconds >= wait.seconds else {
                throw RuleProblem(
                    path: reader.path("longest"),
                    reason: "is shorter than wait",
                    hint: "it is counted from the first event, wait from the last"
                )
            }
            pace = .debounce(wait: wait, longest: longest)
        }
        let by = reader.object["by"]
        guard let text = by?.stringValue, !text.isEmpty else {
            throw RuleProblem(
                path: reader.path("by"),
                reason: by == nil ? "is missing" : by?.stringValue == nil ? "is not a string" : "is empty",
                hint: "say which events belong together, as in \"{{user_id}}\""
            )
        }
        self.by = text
    }

    private static func span(_ reader: RuleObject, _ key: String) throws(RuleProblem) -> TimeSpan {
        let value = reader.object[key]
        guard let span = value?.stringValue.flatMap(TimeSpan.init), span.seconds <= limit.seconds else {
            throw RuleProblem(
                path: reader.path(key),
                reason: value == nil ? "is missing" : "is not a duration from 1s to 24h",
                hint: "write a whole number with s, m or h, such as 30s, 10m or 24h"
            )
        }
        return span
    }

    /// Returns the type of a rule's digest events.
    ///
    /// - Parameter rule: the rule.
    /// - Returns: the type, the same as in the SQL of `ActivateRules`.
    package static func eventType(of rule: RuleDefinition) -> String { "\(typePrefix)\(rule.app).\(rule.name)" }

    /// Refuses both keys in a definition that cannot have digests.
    ///
    /// - Parameter campaign: the campaign's JSON.
    /// - Throws: `RuleProblem` if it has one of the keys.
    package static func refuse(in campaign: RuleObject) throws(RuleProblem) {
        guard let key = keys.first(where: { campaign.object[$0] != nil }) else { return }
        throw RuleProblem(
            path: key,
            reason: "is not for campaigns",
            hint: "a campaign makes its events itself: gather in a rule for events of others"
        )
    }

    /// The keys in the form of a rule.
    var json: JSONObject {
        var object = JSONObject()
        switch pace {
        case .digest(let every):
            object["digest"] = ["every": .string(every.description), "by": .string(by)]
        case .debounce(let wait, let longest):
            var inner = JSONObject()
            inner["wait"] = .string(wait.description)
            inner["by"] = .string(by)
            if longest != Self.limit { inner["longest"] = .string(longest.description) }
            object["debounce"] = .object(inner)
        }
        return object
    }
}
