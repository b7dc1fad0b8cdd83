/// An audience that a provider manages, compiled: it has one ``NativeTarget`` for each event.
public enum NativeAudience: Sendable {
    /// A topic managed by FCM.
    case fcmTopic(TextTemplate)
    /// A condition on topics managed by FCM, with at most ``topicLimit`` topics.
    case fcmCondition(TopicCondition)
    /// An APNs broadcast channel.
    case channel(TextTemplate)

    /// FCM's limit of topics in a condition.
    public static let topicLimit = 5
    /// The APNs header with a channel's id.
    package static let channelHeader = "apns-channel-id"
    /// The maximum length of a channel id; Apple documents none, and this length fits a header.
    public static let channelLimit = 512

    /// Compiles a selection of `to`; nil for audiences that Fanfare evaluates.
    init?(_ selection: AudienceDefinition.Selection) throws(RuleProblem) {
        let path = selection.rulePath
        switch selection {
        case .users, .usersSQL, .tokens, .topic, .condition, .everyone, .staged: return nil
        case .fcmTopic(let name): self = .fcmTopic(try AudiencePlan.topic(name, path: path))
        case .fcmCondition(let text):
            let condition = try AudiencePlan.condition(text, path: path)
            guard condition.names.count <= Self.topicLimit else {
                throw RuleProblem(
                    path: path,
                    reason: "has \(condition.names.count) topics",
                    hint: "FCM takes at most \(Self.topicLimit); condition: takes \(TopicClause.topicLimit)"
                )
            }
            self = .fcmCondition(condition)
        case .channel(let id): self = .channel(try Self.channel(id, path: path))
        }
    }

    /// Whether it contains a template, so that the target depends on the event.
    var needsRendering: Bool {
        switch self {
        case .fcmTopic(let template), .channel(let template): template.literal == nil
        case .fcmCondition(let condition): !condition.isLiteral
        }
    }

    /// Returns the target for an event.
    ///
    /// - Parameter context: the event; unused without templates.
    /// - Returns: the checked target.
    /// - Throws: `RenderProblem` if a value is missing or is not a name or id.
    public func target(_ context: RenderContext) throws(RenderProblem) -> NativeTarget {
        let scope = TemplateScope(context: context, device: nil)
        switch self {
        case .fcmTopic(let name): return .fcmTopic(try TopicName.render(name, in: scope))
        case .fcmCondition(let condition): return .fcmCondition(try condition.text(context))
        case .channel(let template):
            let id = try template.text(in: scope)
            guard Self.isChannelID(id) else {
                throw .header(name: Self.channelHeader, reason: "is not base64 text")
            }
            return .channel(id)
        }
    }

    private static func channel(_ id: String, path: String) throws(RuleProblem) -> TextTemplate {
        let template = try TextTemplate(id, path: path)
        guard !template.usesDevice else {
            throw RuleProblem(path: path, reason: "depends on a device", hint: "use names of the payload only")
        }
        guard template.literal.map(isChannelID) ?? template.fixedText.utf8.allSatisfy(isBase64) else {
            throw RuleProblem(
                path: path,
                reason: "is not a channel id",
                hint: "write the apns-channel-id that APNs gave when the channel was made"
            )
        }
        return template
    }

    private static func isChannelID(_ id: String) -> Bool {
        (1...channelLimit).contains(id.utf8.count) && id.utf8.allSatisfy(isBase64)
    }

    /// Returns whether a byte belongs to base64: both alphabets and padding (RFC 4648), because Apple does not say
    /// which.
    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "+/=-_".utf8.contains(byte)
        }
    }
}

/// The recipients of one request to an audience that the provider manages.
public enum NativeTarget: Hashable, Sendable {
    /// The subscribers of a topic managed by FCM; the name has no prefix.
    case fcmTopic(String)
    /// The devices that meet a condition on topics managed by FCM.
    case fcmCondition(String)
    /// The subscribers of an APNs broadcast channel.
    case channel(String)

    /// The topic's name, the condition, or the channel's id.
    public var value: String {
        switch self {
        case .fcmTopic(let value), .fcmCondition(let value), .channel(let value): value
        }
    }
}
