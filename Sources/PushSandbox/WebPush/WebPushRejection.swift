/// The reasons why a push service rejects a message.
///
/// The ledger, counts and faults use these names; each service has its own wording.
enum WebPushRejection: String, Error, CaseIterable, Sendable {
    case notFound = "NotFound"
    case gone = "Gone"
    case methodNotAllowed = "MethodNotAllowed"
    case missingTTL = "MissingTTL"
    case badTTL = "BadTTL"
    case badUrgency = "BadUrgency"
    case badTopic = "BadTopic"
    case unauthorized = "Unauthorized"
    case badAuthorization = "BadAuthorization"
    case badToken = "BadToken"
    case expiredToken = "ExpiredToken"
    case badAudience = "BadAudience"
    case badKey = "BadKey"
    case keyMismatch = "KeyMismatch"
    case keyReused = "KeyReused"
    case payloadTooLarge = "PayloadTooLarge"
    case badEncryption = "BadEncryption"
    case badCachePolicy = "BadCachePolicy"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"

    /// The status in the RFCs.
    var status: Int {
        switch self {
        case .unauthorized: 401
        case .badAuthorization, .badToken, .expiredToken, .badAudience, .badKey, .keyMismatch: 403
        case .notFound: 404
        case .methodNotAllowed: 405
        case .gone: 410
        case .payloadTooLarge: 413
        case .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable: 503
        default: 400
        }
    }

    /// Whether the reason is the VAPID credential.
    var isAboutCredential: Bool {
        self == .unauthorized || status == 403
    }

    /// The text of a response that has one.
    var text: String {
        switch self {
        case .notFound: "a valid push subscription endpoint should be specified in the URL as such: /wpush/id"
        case .gone: "push subscription has unsubscribed or expired."
        case .methodNotAllowed: "only POST is allowed here"
        case .missingTTL: "the TTL header is missing"
        case .badTTL: "the TTL header must be digits only"
        case .badUrgency: "the Urgency header must be one of very-low, low, normal, high"
        case .badTopic: "the Topic header must be at most 32 characters of the base64url alphabet"
        case .unauthorized: "the Authorization header is missing"
        case .badAuthorization: "the Authorization header must be: vapid t=<token>, k=<key>"
        case .badToken: "invalid JWT provided"
        case .expiredToken: "the JWT has expired"
        case .badAudience: "the aud claim must contain the origin of the endpoint"
        case .badKey: "the k parameter must be an uncompressed P-256 point in unpadded base64url"
        case .keyMismatch:
            "the VAPID credentials in the authorization header do not correspond to the credentials used to create "
                + "the subscriptions."
        case .keyReused: "the VAPID key must not be used for encryption"
        case .payloadTooLarge: "the payload is too large"
        case .badEncryption: "the body must be in the content coding aes128gcm"
        case .badCachePolicy: "Ttl value conflicts with X-WNS-Cache-Policy."
        case .tooManyRequests: "too many requests"
        case .internalServerError: "internal server error"
        case .serviceUnavailable: "service unavailable"
        }
    }
}
