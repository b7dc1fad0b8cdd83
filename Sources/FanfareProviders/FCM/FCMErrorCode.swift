internal import FanfareCore

/// The `errorCode` of an FcmError detail: FCM's own classification.
///
/// Source: Firebase REST reference, `projects.messages` "ErrorCode". The raw value is Google's spelling.
public enum FCMErrorCode: String, CaseIterable, Sendable {
    /// Any status: no further information.
    case unspecifiedError = "UNSPECIFIED_ERROR"
    /// 400: a bad field, a message that is too large, or a malformed token.
    case invalidArgument = "INVALID_ARGUMENT"
    /// 404: app uninstalled, or token expired or replaced.
    case unregistered = "UNREGISTERED"
    /// 403: the token belongs to another Firebase project.
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    /// 429: the quota of the project, the topic or the device is exhausted.
    case quotaExceeded = "QUOTA_EXCEEDED"
    /// 503: overloaded.
    case unavailable = "UNAVAILABLE"
    /// 500: internal server error.
    case internalError = "INTERNAL"
    /// 401: the APNs or Web Push credential stored in Firebase is bad.
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"

    /// Spellings of earlier versions of the API.
    private static let otherSpellings: [String: FCMErrorCode] = ["APNS_AUTH_ERROR": .thirdPartyAuthError]

    /// Finds a code by its current or an earlier spelling.
    ///
    /// - Parameter text: the code as FCM wrote it, compared exactly.
    public init?(text: String) {
        guard let code = FCMErrorCode(rawValue: text) ?? Self.otherSpellings[text] else { return nil }
        self = code
    }

    /// The status that FCM documents for the code; nil if any status is possible.
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
