import Foundation
import SandboxCrypto

/// A signed request for an access token: JWS compact serialization, RS256 (RFC 7523; RFC 7518 section 3.3).
struct Assertion {
    /// The longest validity of an assertion in seconds.
    static let longestLife: Int64 = 3600
    /// The largest difference between the clocks of client and service, in seconds.
    static let clockSkew: Int64 = 300
    /// The scopes that allow sending through FCM.
    static let scopes: Set<Substring> = [
        "https://www.googleapis.com/auth/firebase.messaging", "https://www.googleapis.com/auth/cloud-provider",
    ]

    let header: JSONObject
    let claims: JSONObject
    private let signed: Substring
    private let signature: Data

    /// Parses an assertion; nil if it is no JWT.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Data(base64URL: parts[0]).flatMap(JSONParser.parse)?.members,
            let claims = Data(base64URL: parts[1]).flatMap(JSONParser.parse)?.members,
            let signature = Data(base64URL: parts[2])
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = text[..<parts[1].endIndex]
    }

    /// Runs the checks of the token endpoint.
    ///
    /// - Parameters:
    ///   - account: the service account.
    ///   - audiences: the URLs of the endpoint.
    ///   - now: the wall clock, in seconds since 1970.
    /// - Returns: the reason for the rejection, or nil.
    func failure(account: ServiceAccount, audiences: Set<String>, now: Int64) -> OAuthRejection? {
        guard claims["iss"]?.text == account.clientEmail else { return .accountNotFound }
        guard header["alg"]?.text == "RS256", header["kid"] == nil || header["kid"]?.text == account.keyID,
            account.key.hasSigned(signed.utf8, signature)
        else { return .invalidSignature }
        guard let audience = claims["aud"]?.text, audiences.contains(audience) else { return .wrongAudience }
        guard case .integer(let issued)? = claims["iat"], case .integer(let end)? = claims["exp"],
            issued <= now + Self.clockSkew, end > issued, end - issued <= Self.longestLife, end > now - Self.clockSkew
        else { return .unreasonableTime }
        guard let scope = claims["scope"]?.text, !Self.scopes.isDisjoint(with: scope.split(separator: " ")) else {
            return .invalidScope
        }
        return nil
    }
}
