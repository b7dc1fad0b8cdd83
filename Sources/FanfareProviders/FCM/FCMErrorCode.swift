internal import FanfareCore

/// The `errorCode` of an FcmError detail: what FCM itself decided.
///
/// Source: Firebase REST reference, `projects.messages` "ErrorCode". The raw value is Google's spelling.
public enum FCMErrorCode: String, CaseIterable, Sendable {
    /// Any status: nothing known.
    case unspecifiedError = "UNSPECIFIED_ERROR"
    /// 400: a bad field, a message that is too large, or a malformed token.
    case invalidArgument = "INVALID_ARGUMENT"
    /// 404: app removed, token expired or replaced.
    case unregistered = "UNREGISTERED"
    /// 403: the token belongs to another Firebase project.
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    /// 429: too many for the project, the topic or the device.
    case quotaExceeded = "QUOTA_EXCEEDED"
    /// 503: overloaded.
    case unavailable = "UNAVAILABLE"
    /// 500: server fault.
    case internalError = "INTERNAL"
    /// 401: the APNs or Web Push credential stored in Firebase is bad.
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"

    /// Spellings of earlier versions of the API.
    private static let otherSpellings: [String: FCMErrorCode] = ["APNS_AUTH_ERROR": .thirdPartyAuthError]

    /// Recognises a code in any spelling that was used.
    ///
    /// - Parameter text: the code as FCM wrote it; compared exactly.
    public init?(text: String) {
        guard let code = FCMErrorCode(rawValue: text) ?? Self.otherSpellings[text] else { return nil }
        self = code
    }

    /// The status FCM documents for it; nil where it may come with any.
    public var status: Int? {
        switch self {
        case .unspecifiedError: nil
        case .invalidArgument: 400
        case .thirdPartyAuthError: 401
        case .senderIDMismatch: 403
        case .unregistered: 404
        case .quotaExceeded: 429
        case .internalError: 500
        case .unavailable: 503
        }
    }
}
