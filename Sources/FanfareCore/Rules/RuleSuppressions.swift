/// The suppressions of a rule, as written.
public struct RuleSuppressions: Equatable, Sendable {
    /// The quiet hours that apply to a rule.
    public enum Hours: Equatable, Sendable {
        /// The app's quiet hours, if it has any; none apply to the transactional lane.
        case ofApp
        /// None.
        case off
        /// The rule's own.
        case own(QuietHours)
    }

    private static let off = "off"

    /// The category of its pushes, such as `marketing`, which users can opt out of; nil if they cannot opt out.
    public let category: String?
    /// The quiet hours that apply to the rule.
    public let hours: Hours
    /// The app's caps that its pushes count towards and are limited by.
    public let caps: [String]

    /// Reads the keys of a rule that ``DefinitionObject/rule`` allows.
    init(_ rule: JSONObject) throws(RuleProblem) {
        category = rule.text("category")
        caps = rule["caps"]?.arrayValue?.compactMap(\.stringValue) ?? []
        if let own = rule["quiet_hours"]?.objectValue {
            hours = .own(try QuietHours(own, path: "quiet_hours"))
        } else {
            hours = rule["quiet_hours"] == nil ? .ofApp : .off
        }
    }

    /// Refuses suppressions for a rule with a single request for all users.
    func check(_ audience: AudienceDefinition) throws(RuleProblem) {
        guard let provider = audience.selection.provider, let key = json.keys.first else { return }
        throw RuleProblem(
            path: key,
            reason: "differs by user, but \(provider.rawValue) gets one request for all",
            hint: "remove it"
        )
    }

    /// Returns whether the app's quiet hours apply, if it has any.
    ///
    /// - Parameter lane: the lane of the pushes.
    /// - Returns: whether the rule does not override them, and the lane is not transactional.
    package func goesByApp(in lane: Lane) -> Bool { hours == .ofApp && lane != .transactional }

    /// The rule's own quiet hours.
    package var ownHours: QuietHours? {
        if case .own(let hours) = hours { hours } else { nil }
    }

    /// Returns whether the rule's pushes must be checked for suppressions.
    ///
    /// - Parameters:
    ///   - lane: the lane of the pushes.
    ///   - isAppQuiet: whether the app has quiet hours.
    /// - Returns: whether the rule has a category, or quiet hours apply to it.
    package func asks(in lane: Lane, isAppQuiet: Bool) -> Bool {
        category != nil || ownHours != nil || isAppQuiet && goesByApp(in: lane)
    }

    /// The keys in the form of a rule.
    var json: JSONObject {
        var object = JSONObject()
        object["category"] = category.map(JSONValue.string)
        switch hours {
        case .ofApp: break
        case .off: object["quiet_hours"] = .string(Self.off)
        case .own(let hours): object["quiet_hours"] = hours.json
        }
        if !caps.isEmpty { object["caps"] = .array(caps.map(JSONValue.string)) }
        return object
    }
}
