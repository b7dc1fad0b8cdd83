/// The audience of a rule, as written under `to`.
public struct AudienceDefinition: Equatable, Sendable {
    /// The one key that selects the audience.
    public enum Selection: Equatable, Sendable {
        /// A jsonpath on the payload that returns one user id or many.
        case users(String)
        /// A query that returns user ids in one column, for the payload in `$1` (`jsonb`).
        case usersSQL(String)
        /// A jsonpath on the payload that returns one token or many.
        case tokens(String)
        /// A topic name, which may be a template.
        case topic(String)
        /// A topic condition, in which names may be templates.
        case condition(String)
        /// Every device of the app.
        case everyone
        /// A topic managed by FCM, which may be a template: FCM knows the subscribers.
        case fcmTopic(String)
        /// A condition on topics managed by FCM, in which names may be templates.
        case fcmCondition(String)
        /// The id of an APNs broadcast channel, which may be a template.
        case channel(String)
        /// The users that a campaign's `audience_sql` returned when the event was created; only for rules made from
        /// campaigns.
        case staged
    }

    /// The selection.
    public let selection: Selection
    /// A jsonpath predicate on device attributes, if any.
    public let devices: String?
    /// The only provider, if any; the name is not checked.
    public let provider: PushProvider?
    /// The kind of tokens.
    public let kind: DeviceKind
    /// The permissions of the devices; nil for any.
    public let permissions: [PermissionFilter]?
    /// What the devices must present, all of it; nil for any.
    public let presents: [Presentation]?

    /// Reads an object that ``DefinitionObject/audience`` allows.
    ///
    /// - Parameter object: the value of `to`.
    /// - Throws: `RuleProblem` for keys that cannot be combined, and for paths and queries that are refused.
    init(_ object: JSONObject) throws(RuleProblem) {
        selection = try Self.selection(object)
        devices = object.text("devices")
        provider = object.text("provider").map(PushProvider.init)
        kind = object.text("kind").flatMap(DeviceKind.init) ?? selection.defaultKind
        permissions = object.words("permission")?.compactMap(PermissionFilter.init)
        presents = object.words("presents")?.compactMap(Presentation.init)
        if let devices { try JSONPathCheck.check(devices, path: "to.devices") }
        if let own = selection.provider { try Self.checkNoFilter(object, own) }
        if case .tokens = selection, provider == nil {
            throw RuleProblem(
                path: "to.provider",
                reason: "is missing",
                hint: "tokens need a provider, since unknown ones are registered"
            )
        }
    }

    /// Whether the audience is an APNs broadcast channel.
    package var isChannel: Bool {
        if case .channel = selection { true } else { false }
    }

    /// Refuses filters of a provider's audience, because the provider knows only its subscribers.
    private static func checkNoFilter(_ object: JSONObject, _ provider: PushProvider) throws(RuleProblem) {
        for key in ["devices", "kind", "permission", "presents"] where object[key] != nil {
            throw RuleProblem(
                path: "to.\(key)",
                reason: "cannot filter an audience that \(provider.rawValue) keeps",
                hint: "use topic: or condition:, which Fanfare evaluates itself"
            )
        }
        if let other = object.text("provider").map(PushProvider.init), other != provider {
            throw RuleProblem(
                path: "to.provider",
                reason: "\(other.rawValue) does not keep this audience",
                hint: "leave it out"
            )
        }
    }

    private static func selection(_ object: JSONObject) throws(RuleProblem) -> Selection {
        let given = object.keys.compactMap(AudienceKey.init(rawValue:))
        guard let key = given.first, given.count == 1 else {
            throw RuleProblem(
                path: "to",
                reason: given.isEmpty ? "names no audience" : "has \(given.map(\.rawValue).joined(separator: " and "))",
                hint: "give exactly one of \(AudienceKey.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        let text = object.text(key.rawValue) ?? ""
        switch key {
        case .users, .tokens: try JSONPathCheck.check(text, path: "to.\(key.rawValue)")
        case .usersSQL: try checkQuery(text)
        default: break
        }
        return switch key {
        case .users: .users(text)
        case .usersSQL: .usersSQL(text)
        case .tokens: .tokens(text)
        case .topic: .topic(text)
        case .condition: .condition(text)
        case .everyone: .everyone
        case .fcmTopic: .fcmTopic(text)
        case .fcmCondition: .fcmCondition(text)
        case .channel: .channel(text)
        case .staged: .staged
        }
    }

    /// Refuses a query that is empty or too long; PostgreSQL checks the rest when the rule is put.
    private static func checkQuery(_ query: String) throws(RuleProblem) {
        let isEmpty = query.utf8.allSatisfy { $0 <= 0x20 }
        guard !isEmpty, query.utf8.count <= RuleDefinition.sqlLimit else {
            throw RuleProblem(
                path: "to.users_sql",
                reason: isEmpty ? "is empty" : "is longer than \(RuleDefinition.sqlLimit) bytes",
                hint: "write SELECT user_id FROM public.members WHERE team = $1->>'team'"
            )
        }
    }

    /// The form of `to` in a rule, without defaults.
    public var json: JSONValue {
        var object = JSONObject()
        let key = selection.key.rawValue
        switch selection {
        case .users(let text), .usersSQL(let text), .tokens(let text), .topic(let text), .condition(let text),
            .fcmTopic(let text), .fcmCondition(let text), .channel(let text):
            object[key] = .string(text)
        case .everyone, .staged: object[key] = true
        }
        object["devices"] = devices.map(JSONValue.string)
        object["provider"] = provider.map { .string($0.rawValue) }
        object["permission"] = permissions.map { .words($0.map(\.rawValue)) }
        object["presents"] = presents.map { .words($0.map(\.rawValue)) }
        if kind != selection.defaultKind { object["kind"] = .string(kind.rawValue) }
        return .object(object)
    }
}

/// The keys of `to` that select an audience; a rule has exactly one.
///
/// The raw value is stored with rule versions and targets.
public enum AudienceKey: String, CaseIterable, Sendable {
    /// See ``AudienceDefinition/Selection/users(_:)``.
    case users
    /// See ``AudienceDefinition/Selection/usersSQL(_:)``.
    case usersSQL = "users_sql"
    /// See ``AudienceDefinition/Selection/tokens(_:)``.
    case tokens
    /// See ``AudienceDefinition/Selection/topic(_:)``.
    case topic
    /// See ``AudienceDefinition/Selection/condition(_:)``.
    case condition
    /// See ``AudienceDefinition/Selection/everyone``.
    case everyone
    /// See ``AudienceDefinition/Selection/fcmTopic(_:)``.
    case fcmTopic = "fcm_topic"
    /// See ``AudienceDefinition/Selection/fcmCondition(_:)``.
    case fcmCondition = "fcm_condition"
    /// See ``AudienceDefinition/Selection/channel(_:)``.
    case channel
    /// See ``AudienceDefinition/Selection/staged``.
    case staged

    /// The keys that authors may use.
    public static let allCases: [AudienceKey] = [
        .users, .usersSQL, .tokens, .topic, .condition, .everyone, .fcmTopic, .fcmCondition, .channel,
    ]
}

extension AudienceDefinition.Selection {
    /// The key in a rule.
    public var key: AudienceKey {
        switch self {
        case .users: .users
        case .usersSQL: .usersSQL
        case .tokens: .tokens
        case .topic: .topic
        case .condition: .condition
        case .everyone: .everyone
        case .fcmTopic: .fcmTopic
        case .fcmCondition: .fcmCondition
        case .channel: .channel
        case .staged: .staged
        }
    }

    /// The path in a rule, for ``RuleProblem/path``.
    public var rulePath: String { "to.\(key.rawValue)" }

    /// The provider that manages the audience; nil for audiences of Fanfare.
    public var provider: PushProvider? {
        switch self {
        case .users, .usersSQL, .tokens, .topic, .condition, .everyone, .staged: nil
        case .fcmTopic, .fcmCondition: PushProvider(rawValue: "fcm")
        case .channel: PushProvider(rawValue: "apns")
        }
    }

    /// The default kind of tokens; only Live Activities subscribe to channels.
    var defaultKind: DeviceKind {
        if case .channel = self { .liveActivity } else { .device }
    }
}
