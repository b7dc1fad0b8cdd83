/// A rule as written, parsed and checked for shape.
///
/// ``CompiledRule`` checks its templates, headers and payloads, and PostgreSQL checks its jsonpaths.
public struct RuleDefinition: Equatable, Sendable {
    /// The maximum length of an author's query in bytes.
    public static let sqlLimit = 16 * 1024
    /// The maximum length of a collapse id in bytes, which APNs allows.
    @inlinable public static var collapseLimit: Int { 64 }

    /// The name, unique within the app.
    public let name: String
    /// The app whose devices it reaches.
    public let app: String
    /// The event type that it matches.
    public let event: String
    /// A jsonpath predicate on the payload, if any.
    public let when: String?
    /// The audience.
    public let audience: AudienceDefinition
    /// The message, in the shape of an FCM v1 Message.
    public let message: JSONObject
    /// The differences by locale: language tags with parts of a message.
    public let locales: JSONObject
    /// The template of the collapse id, if any.
    public let collapse: String?
    /// How long after the event a push may still be sent, if limited.
    public let ttl: TimeSpan?
    /// The lane of its batches.
    public let lane: Lane
    /// Whether a newer event drops older ones that are not sent; the default is true only for Live Activities with
    /// `collapse`.
    public let supersede: Bool
    /// The handling of events that waited during an outage.
    public let backlog: BacklogPolicy
    /// The guarantee if daemons crash.
    public let delivery: DeliveryGuarantee
    /// Whether it matches events at all.
    public let enabled: Bool
    /// A query for users' badge counts, if any: columns user id and count, for the user ids in `$1`.
    public let badgeSQL: String?
    /// The options for suppressions.
    public let suppressions: RuleSuppressions
    /// The variants and the holdout.
    public let groups: RuleGroups
    /// The digest options, if it has a digest.
    public let digest: DigestDefinition?
    /// The events that take its pushes back, if any.
    public let retractOn: RetractDefinition?
    /// What devices report of its pushes.
    public let reports: ReportDefinition
    /// What its pushes should lead to, if it is counted.
    public let conversion: ConversionDefinition?

    /// Parses a rule.
    ///
    /// - Parameter json: the rule as JSON, or YAML turned into JSON.
    /// - Throws: `RuleProblem` with the first error.
    public init(json: JSONValue) throws(RuleProblem) {
        guard json.depth <= JSONLimits.document.levels else {
            throw RuleProblem(path: "", reason: "has more than \(JSONLimits.document.levels) levels")
        }
        if let problem = StorableJSON.problem(in: json) { throw problem }
        let object = try RuleObject(json, path: "").object
        name = object.text("name") ?? ""
        let isMade = RuleNames.isOfCampaign(name) || RuleNames.isOfSend(name)
        try (isMade ? DefinitionObject.madeRule : .rule).check(object)
        app = object.text("app") ?? ""
        event = object.text("event") ?? ""
        when = object.text("when")
        if let when { try JSONPathCheck.check(when, path: "when") }
        audience = try AudienceDefinition(object["to"]?.objectValue ?? JSONObject())
        message = object["message"]?.objectValue ?? JSONObject()
        locales = object["locales"]?.objectValue ?? JSONObject()
        collapse = object.text("collapse")
        ttl = object.text("ttl").flatMap { TimeSpan($0) }
        lane = object.text("lane").flatMap(Lane.init(name:)) ?? .normal
        supersede = object["supersede"]?.boolValue ?? Self.supersedesUnasked(audience, collapse)
        backlog = object.text("backlog").flatMap(BacklogPolicy.init) ?? .send
        delivery = object.text("delivery").flatMap(DeliveryGuarantee.init) ?? .atLeastOnce
        enabled = object["enabled"]?.boolValue ?? true
        badgeSQL = object.text("badge_sql")
        suppressions = try RuleSuppressions(object)
        groups = try RuleGroups(object)
        digest = try DigestDefinition.read(object)
        retractOn = try RetractDefinition.read(object)
        reports = try ReportDefinition(object, audience)
        conversion = try ConversionDefinition.read(object)
        guard !message.isEmpty else {
            throw RuleProblem(path: "message", reason: "is empty", hint: "say what to send")
        }
        try checkCollapse()
        try checkBadge()
        try suppressions.check(audience)
        try groups.check(audience)
        try retractOn?.check(in: self)
    }

    /// The rule in the form of a file, without defaults: the stored form, which is compared to detect changes.
    public var json: JSONValue {
        var object = JSONObject()
        object["name"] = .string(name)
        object["app"] = .string(app)
        object["event"] = .string(event)
        object["when"] = when.map(JSONValue.string)
        object["to"] = audience.json
        object["message"] = .object(message)
        if !locales.isEmpty { object["locales"] = .object(locales) }
        object["collapse"] = collapse.map(JSONValue.string)
        object["ttl"] = ttl.map { .string($0.description) }
        if lane != .normal { object["lane"] = .string(lane.name) }
        if supersede != Self.supersedesUnasked(audience, collapse) { object["supersede"] = .bool(supersede) }
        if backlog != .send { object["backlog"] = .string(backlog.rawValue) }
        if delivery != .atLeastOnce { object["delivery"] = .string(delivery.rawValue) }
        if !enabled { object["enabled"] = false }
        object["badge_sql"] = badgeSQL.map(JSONValue.string)
        for member in suppressions.json.members + groups.json.members { object[member.key] = member.value }
        let optional = [digest?.json, retractOn?.json, reports.json, conversion?.json].compactMap { $0?.members }
        for member in optional.joined() { object[member.key] = member.value }
        return .object(object)
    }

    /// Whether it is the internal rule of the silent pushes that take events back.
    public var isRetraction: Bool { event.hasPrefix("retract.") }

    /// Whether a newer event can drop older ones: `supersede`, or `backlog: latest_per_collapse`.
    public var dropsOlder: Bool { supersede || backlog == .latestPerCollapse }

    /// Returns whether a rule supersedes by default: only the newest state of a Live Activity matters, so a collapse id
    /// suffices, if the users of an event are known without PostgreSQL.
    private static func supersedesUnasked(_ audience: AudienceDefinition, _ collapse: String?) -> Bool {
        audience.kind == .liveActivity && collapse != nil && audience.selection.isTraceable
    }

    private func checkCollapse() throws(RuleProblem) {
        guard dropsOlder else { return }
        guard collapse != nil else {
            throw RuleProblem(
                path: supersede ? "supersede" : "backlog",
                reason: "needs collapse",
                hint: "say which events replace each other"
            )
        }
        guard audience.selection.isTraceable else {
            throw RuleProblem(
                path: supersede ? "supersede" : "backlog",
                reason: "needs a plain path in to, which names the users of an event",
                hint: "write to as $.customer_id or $.teams[*].lead"
            )
        }
    }

    private func checkBadge() throws(RuleProblem) {
        guard let badgeSQL else { return }
        if let provider = audience.selection.provider {
            throw RuleProblem(
                path: "badge_sql",
                reason: "differs by user, but \(provider.rawValue) gets one request for all",
                hint: "remove it"
            )
        }
        guard badgeSQL.utf8.count <= Self.sqlLimit, badgeSQL.contains("$1"), !badgeSQL.utf8.contains(0) else {
            throw RuleProblem(
                path: "badge_sql",
                reason: "is too long, or does not ask for $1",
                hint: "write SELECT user_id, count(*) FROM public.unread WHERE user_id = ANY ($1) GROUP BY user_id"
            )
        }
    }
}

extension AudienceDefinition.Selection {
    /// Whether the users of an event are known without PostgreSQL.
    fileprivate var isTraceable: Bool {
        switch self {
        case .users(let path), .tokens(let path): MemberPath(path) != nil
        case .usersSQL: false
        case .topic, .condition, .everyone, .fcmTopic, .fcmCondition, .channel, .staged: true
        }
    }
}
