/// Whom a rule does not disturb, as its author wrote it.
public struct RuleSuppressions: Equatable, Sendable {
    /// When a rule does not disturb.
    public enum Hours: Equatable, Sendable {
        /// In the app's quiet hours, if it has any; what is in the transactional lane goes by none.
        case ofApp
        /// At any time.
        case off
        /// In hours of its own.
        case own(QuietHours)
    }

    static let keys = ["category", "quiet_hours", "caps"]
    private static let off = "off"

    /// What its pushes are about, such as `marketing`, for users who want none of that; nil for what nobody can opt out of.
    public let category: String?
    /// When it does not disturb.
    public let hours: Hours
    /// The caps of its app that its pushes count for, and are held back by.
    public let caps: [String]

    init(_ reader: RuleObject) throws(RuleProblem) {
        category = try reader.string("category")
        if let category, !RuleNames.isLabel(category) {
            throw RuleProblem(
                path: reader.path("category"),
                reason: "cannot be a category",
                hint: RuleNames.labelHint
            )
        }
        hours = try Self.hours(reader.object["quiet_hours"], path: reader.path("quiet_hours"))
        caps = try Self.caps(reader.object["caps"], path: reader.path("caps"))
    }

    private static func caps(_ json: JSONValue?, path: String) throws(RuleProblem) -> [String] {
        guard let json else { return [] }
        let names = json.arrayValue?.map(\.stringValue)
        guard let names, !names.contains(nil) else {
            throw RuleProblem(
                path: path,
                reason: "is not a list of names",
                hint: #"name caps of the app's policy, as in ["daily"]"#
            )
        }
        return names.compactMap(\.self)
    }

    private static func hours(_ json: JSONValue?, path: String) throws(RuleProblem) -> Hours {
        guard let json else { return .ofApp }
        if json.stringValue == off { return .off }
        guard json.objectValue != nil else {
            throw RuleProblem(
                path: path,
                reason: json.stringValue == nil ? "is not an object" : "is neither off nor an object",
                hint: #"write {"from": "22:00", "until": "08:00", "mode": "hold"}, or off for none"#
            )
        }
        return .own(try QuietHours(RuleObject(json, path: path)))
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

    /// Whether the app's quiet hours hold, if it has any.
    ///
    /// - Parameter lane: what its pushes are in.
    /// - Returns: whether the rule says nothing else, and is not urgent.
    package func goesByApp(in lane: Lane) -> Bool { hours == .ofApp && lane != .transactional }

    /// The rule's own quiet hours.
    package var ownHours: QuietHours? {
        if case .own(let hours) = hours { hours } else { nil }
    }

    /// Whether anything is looked at for its pushes.
    ///
    /// - Parameters:
    ///   - lane: what they are in.
    ///   - isAppQuiet: whether the app has quiet hours.
    /// - Returns: whether it has a category, or quiet hours hold for it.
    package func asks(in lane: Lane, isAppQuiet: Bool) -> Bool {
        category != nil || ownHours != nil || isAppQuiet && goesByApp(in: lane)
    }

    /// Its keys as they would be written.
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
