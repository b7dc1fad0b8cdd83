/// FCM's error codes; reference: Firebase REST reference, `ErrorCode`.
///
/// Google's general codes, which come without FCM's detail, are in `GoogleStatus`.
enum FCMErrorCode: String, CaseIterable, Sendable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case internalError = "INTERNAL"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    /// The older name of `THIRD_PARTY_AUTH_ERROR`.
    case apnsAuthError = "APNS_AUTH_ERROR"

    /// The HTTP status of the code.
    var status: Int {
        switch self {
        case .unspecified, .internalError: 500
        case .invalidArgument: 400
        case .unregistered: 404
        case .senderIDMismatch: 403
        case .quotaExceeded: 429
        case .unavailable: 503
        case .thirdPartyAuthError, .apnsAuthError: 401
        }
    }

    /// The default text of the response.
    var text: String {
        switch self {
        case .unspecified: "Unknown error."
        case .invalidArgument: "Request contains an invalid argument."
        case .unregistered: "Requested entity was not found."
        case .senderIDMismatch: "SenderId mismatch"
        case .quotaExceeded: "Quota exceeded."
        case .unavailable: "The service is currently unavailable."
        case .internalError: "Internal error encountered."
        case .thirdPartyAuthError, .apnsAuthError: "Auth error from APNS or Web Push Service"
        }
    }
}

/// The `status` of Google's error bodies; reference: `google.rpc.Code`.
enum GoogleStatus {
    /// Returns the name for an HTTP status.
    static func name(of status: Int) -> String {
        switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 409: "ABORTED"
        case 429: "RESOURCE_EXHAUSTED"
        case 500: "INTERNAL"
        case 501: "UNIMPLEMENTED"
        case 503: "UNAVAILABLE"
        case 504: "DEADLINE_EXCEEDED"
        default: "UNKNOWN"
        }
    }

    /// Returns the HTTP status of a name; nil for an unknown one.
    static func status(of name: String) -> Int? {
        switch name {
        case "ALREADY_EXISTS", "ABORTED": 409
        default: [400, 401, 403, 404, 429, 500, 501, 503, 504].first { self.name(of: $0) == name }
        }
    }
}
