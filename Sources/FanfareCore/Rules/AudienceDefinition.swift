/// Whom a rule reaches, as it is written under `to`.
public struct AudienceDefinition: Equatable, Sendable {
    /// The one key that says who.
    public enum Selection: Equatable, Sendable {
        /// A jsonpath on the payload that gives one user id or many.
        case users(String)
        /// A jsonpath on the payload that gives one token or many.
        case tokens(String)
        /// A topic name, perhaps a template.
        case topic(String)
        /// A topic condition, perhaps with templates as names.
        case condition(String)
        /// Every device of the app.
        case everyone
    }

    static let selectionKeys = ["users", "tokens", "topic", "condition", "everyone"]
    static let providerKeys = ["fcm_topic", "fcm_condition", "channel"]

    /// Who.
    public let selection: Selection
    /// A jsonpath predicate on device attributes, if given.
    public let devices: String?
    /// The only platform, if given.
    public let platform: PushProvider?
    /// The kind of tokens.
    public let kind: DeviceKind

    /// Reads `to`.
    init(_ reader: RuleObject) throws(RuleProblem) {
        try reader.checkKeys(Self.selectionKeys + Self.providerKeys + ["devices", "platform", "kind"])
        selection = try Self.selection(reader)
        devices = try reader.string("devices")
        platform = try reader.word("platform", PushProvider.self)
        kind = try reader.word("kind", DeviceKind.self) ?? .device
        if let devices { try JSONPathCheck.check(devices, path: reader.path("devices")) }
        if let platform, !PushProvider.supported.contains(platform) {
            throw RuleProblem(
                path: reader.path("platform"),
                reason: "\(platform.rawValue) is not supported by this version",
                hint: "this version sends to \(PushProvider.supported.map(\.rawValue).joined(separator: ", "))"
            )
        }
        if case .tokens = selection, platform == nil {
            throw RuleProblem(
                path: reader.path("platform"),
                reason: "is missing",
                hint: "tokens need a platform, since unknown ones are registered"
            )
        }
    }

    private static func selection(_ reader: RuleObject) throws(RuleProblem) -> Selection {
        let given = reader.object.keys.filter { (selectionKeys + providerKeys).contains($0) }
        guard let key = given.first, given.count == 1 else {
            throw RuleProblem(
                path: reader.path,
                reason: given.isEmpty ? "says nobody" : "has \(given.joined(separator: " and "))",
                hint: "give exactly one of \((selectionKeys + providerKeys).joined(separator: ", "))"
            )
        }
        if providerKeys.contains(key) {
            throw RuleProblem(
                path: reader.path(key),
                reason: "is evaluated by a provider feature that this version does not support",
                hint: "use topic: or condition:, which Fanfare evaluates itself"
            )
        }
        if key == "everyone" {
            guard try reader.bool(key) == true else {
                throw RuleProblem(path: reader.path(key), reason: "is not true", hint: "write everyone: true")
            }
            return .everyone
        }
        let text = try reader.string(key) ?? ""
        switch key {
        case "topic": return .topic(text)
        case "condition": return .condition(text)
        default:
            try JSONPathCheck.check(text, path: reader.path(key))
            return key == "users" ? .users(text) : .tokens(text)
        }
    }

    /// `to` as it would be written, without defaults.
    public var json: JSONValue {
        var object = JSONObject()
        switch selection {
        case .users(let path): object["users"] = .string(path)
        case .tokens(let path): object["tokens"] = .string(path)
        case .topic(let name): object["topic"] = .string(name)
        case .condition(let text): object["condition"] = .string(text)
        case .everyone: object["everyone"] = true
        }
        object["devices"] = devices.map(JSONValue.string)
        object["platform"] = platform.map { .string($0.rawValue) }
        if kind != .device { object["kind"] = .string(kind.rawValue) }
        return .object(object)
    }
}
