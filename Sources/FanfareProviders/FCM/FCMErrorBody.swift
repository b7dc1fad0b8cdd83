public import FanfareCore

/// The relevant parts of the JSON in an FCM error body.
///
/// Parsing never fails: an empty body, HTML of a load balancer, or garbage yields an error body without content.
public struct FCMErrorBody: Equatable, Sendable {
    /// The maximum size of a body that is parsed.
    public static let maximumBytes = 16 * 1024
    /// An unknown word is truncated to this many characters.
    public static let maximumReasonLength = 64

    /// `error.status`, such as `NOT_FOUND`; without control characters, so that it can be logged.
    public var status: String?
    /// `errorCode` of the FcmError detail, such as `UNREGISTERED`; loggable.
    public var errorCode: String?
    /// The status of an APNs answer that FCM forwards.
    public var apnsStatus: Int?
    /// The reason of an APNs answer that FCM forwards; loggable.
    public var apnsReason: String?
    /// The fields of the message that FCM rejects, such as `message.android.ttl`; loggable, a few of them.
    public var fields: [String]
    /// Whether FCM rejects the token itself and nothing else.
    public var namesToken: Bool
    /// The scope of an exhausted quota, if the body names it.
    public var quotaScope: AnswerScope?

    /// Creates an error body with the given content.
    ///
    /// - Parameters:
    ///   - status: `error.status`.
    ///   - errorCode: FCM's own code.
    ///   - apnsStatus: the forwarded status of APNs.
    ///   - apnsReason: the forwarded reason of APNs.
    ///   - fields: the rejected fields of the message.
    ///   - namesToken: whether FCM rejects the token itself and nothing else.
    ///   - quotaScope: the scope of an exhausted quota.
    public init(
        status: String? = nil,
        errorCode: String? = nil,
        apnsStatus: Int? = nil,
        apnsReason: String? = nil,
        fields: [String] = [],
        namesToken: Bool = false,
        quotaScope: AnswerScope? = nil
    ) {
        self.status = status
        self.errorCode = errorCode
        self.apnsStatus = apnsStatus
        self.apnsReason = apnsReason
        self.fields = fields
        self.namesToken = namesToken
        self.quotaScope = quotaScope
    }

    /// The reason in FCM's words: its own code, or else `error.status`.
    public var reason: String? { errorCode ?? status }

    /// The reason for logs, with the rejected fields or the reason of APNs.
    public var words: String? {
        reason.map { ([$0] + fields + [apnsReason].compactMap(\.self)).joined(separator: " ") }
    }

    /// Parses a body.
    ///
    /// - Parameter bytes: the body, complete or truncated.
    public init(parsing bytes: some Collection<UInt8>) {
        self.init()
        let limits = JSONLimits(bytes: Self.maximumBytes, levels: 32)
        guard !bytes.isEmpty, let json = try? JSONValue(parsing: Array(bytes), limits: limits) else { return }
        guard let error = json["error"], error.objectValue != nil else { return }
        status = Self.word(error["status"])
        let details = Details(error["details"]?.arrayValue ?? [])
        errorCode = Self.word(details.fcm?["errorCode"])
        apnsStatus = details.apns?["statusCode"]?.numberValue?.integer.flatMap(Int.init(exactly:))
        apnsReason = Self.word(details.apns?["reason"])
        fields = details.fields.prefix(4).compactMap { $0.loggable(upTo: Self.maximumReasonLength) }
        let message = error["message"]?.stringValue ?? ""
        // Texts are searched only if they affect the verdict.
        if reason == FCMErrorCode.invalidArgument.rawValue {
            namesToken = Self.namesToken(fields: details.fields, message: message)
        }
        if status == "RESOURCE_EXHAUSTED" || reason == FCMErrorCode.quotaExceeded.rawValue {
            quotaScope = Self.quotaScope(details.quota) ?? Self.quotaScope([message])
        }
    }

    private static func word(_ value: JSONValue?) -> String? { value?.stringValue?.loggable(upTo: maximumReasonLength) }

    /// Returns whether only the token is rejected: by the field in BadRequest, or without one by the observed text for
    /// malformed tokens.
    private static func namesToken(fields: [String], message: String) -> Bool {
        guard fields.isEmpty else { return fields.allSatisfy { $0 == "message.token" || $0 == "message.fid" } }
        return message.mentions("registration token is not a valid fcm registration token")
    }

    /// Returns the scope of an exhausted quota; a text that names neither a topic nor a device means the project's
    /// quota, since Google does not document the texts of QuotaFailure.
    private static func quotaScope(_ texts: [String]) -> AnswerScope? {
        // A project can have any name, including "topic-devices".
        let prefixes = ["project:", "project_number:", "projects/"]
        if texts.contains(where: { text in prefixes.contains(where: text.hasPrefix) }) { return .credential }
        let text = texts.joined(separator: " ")
        if text.mentions("topic") { return .topic }
        if ["device", "registration"].contains(where: text.mentions) { return .device }
        return text.mentions("project") ? .credential : nil
    }

    /// The error details that FCM sends, by type (google.rpc error details).
    private struct Details {
        var fcm: JSONValue?
        var apns: JSONValue?
        var fields: [String] = []
        var quota: [String] = []

        init(_ details: [JSONValue]) {
            for detail in details {
                switch detail["@type"]?.stringValue {
                case "type.googleapis.com/google.firebase.fcm.v1.FcmError": fcm = detail
                case "type.googleapis.com/google.firebase.fcm.v1.ApnsError": apns = detail
                case "type.googleapis.com/google.rpc.BadRequest":
                    fields += (detail["fieldViolations"]?.arrayValue ?? []).compactMap { $0["field"]?.stringValue }
                case "type.googleapis.com/google.rpc.QuotaFailure":
                    for violation in detail["violations"]?.arrayValue ?? [] {
                        quota += ["subject", "description"].compactMap { violation[$0]?.stringValue }
                    }
                default: continue
                }
            }
        }
    }
}
