public import FanfareCore

/// The JSON of an FCM error body, as far as anything follows from it.
///
/// Never fails: an empty body, HTML of some load balancer, or garbage gives an error body that says nothing.
public struct FCMErrorBody: Equatable, Sendable {
    /// More than this is not looked at.
    public static let maximumBytes = 16 * 1024
    /// An unknown word is cut to this many characters.
    public static let maximumReasonLength = 64

    /// `error.status`, such as `NOT_FOUND`; without control characters, so that it can be logged.
    public var status: String?
    /// `errorCode` of the FcmError detail, such as `UNREGISTERED`; loggable.
    public var errorCode: String?
    /// What APNs answered, where FCM passed that on: its status.
    public var apnsStatus: Int?
    /// What APNs answered, where FCM passed that on: its reason; loggable.
    public var apnsReason: String?
    /// The fields of the message that it complains of, such as `message.android.ttl`; loggable, a few of them.
    public var fields: [String]
    /// Whether the complaint is about the token itself and about nothing else.
    public var namesToken: Bool
    /// Whose quota is used up, where the body says so.
    public var quotaScope: AnswerScope?

    /// An error body of known content.
    ///
    /// - Parameters:
    ///   - status: `error.status`.
    ///   - errorCode: FCM's own code.
    ///   - apnsStatus: the status of APNs, passed on.
    ///   - apnsReason: the reason of APNs, passed on.
    ///   - fields: what of the message it complains of.
    ///   - namesToken: whether the complaint is about the token itself.
    ///   - quotaScope: whose quota is used up.
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

    /// Why, in FCM's words: its own code, else the general one.
    public var reason: String? { errorCode ?? status }

    /// The reason with what is beside it, for logs: the fields it is about, or what APNs said.
    public var words: String? {
        reason.map { ([$0] + fields + [apnsReason].compactMap(\.self)).joined(separator: " ") }
    }

    /// Reads a body.
    ///
    /// - Parameter bytes: the body, complete or cut.
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
        // Texts are searched only where they decide something.
        if reason == FCMErrorCode.invalidArgument.rawValue {
            namesToken = Self.namesToken(fields: details.fields, message: message)
        }
        if status == "RESOURCE_EXHAUSTED" || reason == FCMErrorCode.quotaExceeded.rawValue {
            quotaScope = Self.quotaScope(details.quota) ?? Self.quotaScope([message])
        }
    }

    private static func word(_ value: JSONValue?) -> String? { value?.stringValue?.loggable(upTo: maximumReasonLength) }

    /// A field named by BadRequest decides; without one, the text that was seen for malformed tokens.
    private static func namesToken(fields: [String], message: String) -> Bool {
        guard fields.isEmpty else { return fields.allSatisfy { $0 == "message.token" } }
        return message.mentions("registration token is not a valid fcm registration token")
    }

    /// Google does not promise the texts of QuotaFailure; what names neither a topic nor a device is the project's quota.
    private static func quotaScope(_ texts: [String]) -> AnswerScope? {
        // A project may be called anything, "topic-devices" too.
        let prefixes = ["project:", "project_number:", "projects/"]
        if texts.contains(where: { text in prefixes.contains(where: text.hasPrefix) }) { return .credential }
        let text = texts.joined(separator: " ")
        if text.mentions("topic") { return .topic }
        if ["device", "registration"].contains(where: text.mentions) { return .device }
        return text.mentions("project") ? .credential : nil
    }

    /// The details FCM sends, by type (google.rpc error details).
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
