/// The reasons why the token endpoint issues no token; reference: RFC 6749 section 5.2, Google's texts.
enum OAuthRejection: CaseIterable {
    case missingParameter
    case unsupportedGrantType
    case malformedAssertion
    case accountNotFound
    case invalidSignature
    case wrongAudience
    case unreasonableTime
    case invalidScope

    /// The error code in the response.
    var code: String {
        switch self {
        case .missingParameter: "invalid_request"
        case .unsupportedGrantType: "unsupported_grant_type"
        case .invalidScope: "invalid_scope"
        default: "invalid_grant"
        }
    }

    var text: String {
        switch self {
        case .missingParameter: "Missing required parameter: assertion"
        case .unsupportedGrantType: "Invalid grant_type"
        case .malformedAssertion: "Invalid JWT: not a JWS in compact serialization"
        case .accountNotFound: "Invalid grant: account not found"
        case .invalidSignature: "Invalid JWT Signature."
        case .wrongAudience: "Invalid JWT: Failed audience check. The right audience is the token endpoint."
        case .unreasonableTime:
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. "
                + "Check your iat and exp values in the JWT claim."
        case .invalidScope: "Invalid OAuth scope or ID token audience provided."
        }
    }

    /// Returns the status of an error code, including codes that only faults use; nil if there is no such code.
    static func status(of code: String) -> Int? {
        switch code {
        case "invalid_request", "invalid_grant", "invalid_scope", "unsupported_grant_type": 400
        case "invalid_client", "unauthorized_client": 401
        case "access_denied": 403
        case "server_error", "internal_failure": 500
        case "temporarily_unavailable": 503
        default: nil
        }
    }
}
