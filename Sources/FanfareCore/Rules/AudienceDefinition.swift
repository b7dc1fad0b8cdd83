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
        /// One of FCM's own topics, perhaps a template: FCM knows who subscribed.
        case fcmTopic(String)
        /// A condition on FCM's own topics, perhaps with templates as names.
        case fcmCondition(String)
        /// The id of an APNs broadcast channel, perhaps a template.
        case channel(String)
    }

    static let selectionKeys = ["users", "tokens", "topic", "condition", "everyone"]
    /// Audiences that a provider keeps and evaluates: one request, no devices of ours.
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
        let kind = try reader.word("kind", DeviceKind.self)
        self.kind = kind ?? selection.defaultKind
        if let devices { try JSONPathCheck.check(devices, path: reader.path("devices")) }
        if let own = selection.provider {
            try Self.checkNoFilter(reader, own)
        } else if self.kind != .device, let platform, platform != .apns {
            throw RuleProblem(
                path: reader.path("kind"),
                reason: "\(self.kind.rawValue) is a kind of apns tokens, not of \(platform.rawValue)",
                hint: "remove kind or platform"
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

    /// The platforms it can reach: what a rule's message is checked for.
    public var platforms: [PushProvider] {
        if let own = selection.provider ?? platform { return [own] }
        return kind == .device ? PushProvider.allCases : [.apns]
    }

    /// Whether it is an APNs broadcast channel.
    var isChannel: Bool {
        if case .channel = selection { true } else { false }
    }

    /// A provider knows only what it was told: who subscribed.
    private static func checkNoFilter(_ reader: RuleObject, _ provider: PushProvider) throws(RuleProblem) {
        for key in ["devices", "kind"] where reader.object[key] != nil {
            throw RuleProblem(
                path: reader.path(key),
                reason: "cannot filter an audience that \(provider.rawValue) keeps",
                hint: "use topic: or condition:, which Fanfare evaluates itself"
            )
        }
        if let platform = try reader.word("platform", PushProvider.self), platform != provider {
            throw RuleProblem(
                path: reader.path("platform"),
                reason: "\(platform.rawValue) does not keep this audience",
                hint: "leave it out"
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
        case "fcm_topic": return .fcmTopic(text)
        case "fcm_condition": return .fcmCondition(text)
        case "channel": return .channel(text)
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
        case .fcmTopic(let name): object["fcm_topic"] = .string(name)
        case .fcmCondition(let text): object["fcm_condition"] = .string(text)
        case .channel(let id): object["channel"] = .string(id)
        }
        object["devices"] = devices.map(JSONValue.string)
        object["platform"] = platform.map { .string($0.rawValue) }
        if kind != selection.defaultKind { object["kind"] = .string(kind.rawValue) }
        return .object(object)
    }
}

extension AudienceDefinition.Selection {
    /// The provider that keeps the audience; nil if Fanfare does.
    public var provider: PushProvider? {
        switch self {
        case .users, .tokens, .topic, .condition, .everyone: nil
        case .fcmTopic, .fcmCondition: .fcm
        case .channel: .apns
        }
    }

    /// What tokens are for unless the rule says so; only Live Activities listen to channels.
    var defaultKind: DeviceKind {
        if case .channel = self { .liveActivity } else { .device }
    }
}
