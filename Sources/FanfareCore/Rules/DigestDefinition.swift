/// The options of a rule that gathers events into digests: one push for many events.
public struct DigestDefinition: Equatable, Sendable {
    /// When a digest closes.
    public enum Pace: Equatable, Sendable {
        /// A fixed time after the first event of a key.
        case digest(every: TimeSpan)
        /// A time after the last event, but at most another time after the first.
        case debounce(wait: TimeSpan, longest: TimeSpan)
    }

    private static let keys = ["digest", "debounce"]
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

    /// Reads the options of a rule that ``DefinitionObject/rule`` allows.
    ///
    /// - Parameter rule: the rule.
    /// - Returns: nil if the rule has no digest.
    /// - Throws: `RuleProblem` for keys that cannot be combined.
    static func read(_ rule: JSONObject) throws(RuleProblem) -> DigestDefinition? {
        let digest = rule["digest"]?.objectValue
        let debounce = rule["debounce"]?.objectValue
        guard let object = digest ?? debounce else { return nil }
        guard digest == nil || debounce == nil else {
            throw RuleProblem(path: "debounce", reason: "is beside digest", hint: "give one of the two")
        }
        guard rule.text("event")?.hasPrefix(typePrefix) != true else {
            throw RuleProblem(
                path: "event",
                reason: "is of events that were gathered",
                hint: "types that begin with \(typePrefix) are not gathered again: leave "
                    + (digest == nil ? "debounce" : "digest") + " out"
            )
        }
        let by = object.text("by") ?? ""
        if let every = object.text("every").flatMap({ TimeSpan($0) }) {
            return DigestDefinition(pace: .digest(every: every), by: by)
        }
        let wait = object.text("wait").flatMap { TimeSpan($0) } ?? limit
        let longest = object.text("longest").flatMap { TimeSpan($0) } ?? limit
        guard longest.seconds >= wait.seconds else {
            throw RuleProblem(
                path: "debounce.longest",
                reason: "is shorter than wait",
                hint: "it is counted from the first event, wait from the last"
            )
        }
        return DigestDefinition(pace: .debounce(wait: wait, longest: longest), by: by)
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

    /// Returns the type of a rule's digest events.
    ///
    /// - Parameter rule: the rule.
    /// - Returns: the type, the same as in the SQL of `ActivateRules`.
    package static func eventType(of rule: RuleDefinition) -> String { "\(typePrefix)\(rule.app).\(rule.name)" }

    /// Refuses both keys in a definition that cannot have digests.
    ///
    /// - Parameter campaign: the campaign's JSON.
    /// - Throws: `RuleProblem` if it has one of the keys.
    package static func refuse(in campaign: JSONObject) throws(RuleProblem) {
        guard let key = keys.first(where: { campaign[$0] != nil }) else { return }
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
