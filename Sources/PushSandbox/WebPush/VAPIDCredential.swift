import Foundation
import SandboxCrypto

/// The sender that an `authorization` header of a push proves (RFC 8292); validity and origin are checked at each use.
struct VAPIDCredential {
    /// The largest distance of `exp` from now, in seconds.
    static let longestLife = 86_400.0

    /// `k`, an uncompressed point.
    let publicKey: Data
    /// `aud`, one or several origins.
    let audiences: [String]
    /// `exp`, in seconds since 1970.
    let end: Double
    let subject: String?

    /// Parses a header and verifies its signature.
    ///
    /// - Parameter header: the header, `vapid t=…, k=…`; parameters in any order, unknown ones ignored.
    /// - Throws: `WebPushRejection`.
    init(_ header: String) throws(WebPushRejection) {
        let parameters = Self.parameters(header)
        guard let token = parameters["t"], let key = parameters["k"] else { throw .badAuthorization }
        guard let publicKey = Data(base64URL: key), let verifier = P256PublicKey(point: publicKey) else {
            throw .badKey
        }
        let claims = try Self.claims(token, verifier)
        self.publicKey = publicKey
        switch claims["aud"] {
        case .string(let origin)?: audiences = [origin]
        case .array(let origins)?: audiences = origins.compactMap(\.text)
        default: throw .badAudience
        }
        switch claims["exp"] {
        case .integer(let seconds)?: end = Double(seconds)
        case .number(let seconds)?: end = seconds
        default: throw .badToken
        }
        subject = claims["sub"]?.text
    }

    private static func parameters(_ header: String) -> [Substring: Substring] {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "vapid" else { return [:] }
        var parameters: [Substring: Substring] = [:]
        for parameter in parts[1].split(separator: ",") {
            let pair = parameter.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { continue }
            parameters[pair[0]] = pair[1].prefix { $0 != " " }
        }
        return parameters
    }

    private static func claims(
        _ token: Substring,
        _ key: P256PublicKey
    ) throws(WebPushRejection) -> JSONObject {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Data(base64URL: parts[0]).flatMap({ JSONParser.parse($0) })?.members,
            header["alg"]?.text == "ES256",
            let claims = Data(base64URL: parts[1]).flatMap({ JSONParser.parse($0) })?.members,
            // Raw r and s; DER is the most common mistake and must be rejected.
            let signature = Data(base64URL: parts[2]), key.hasSigned(token[..<parts[1].endIndex].utf8, signature)
        else { throw .badToken }
        return claims
    }

    /// Returns the name of a key in endpoints: the first 16 bytes of its SHA-256.
    static func fingerprint(of publicKey: some DataProtocol) -> String {
        Data(Hashing.hash(publicKey).prefix(16)).base64URL
    }

    /// Checks validity, origin and key.
    ///
    /// - Parameters:
    ///   - origin: the origin of the endpoint.
    ///   - fingerprint: the fingerprint of the key that the subscription is restricted to; nil if it is not restricted.
    ///   - service: the push service; Apple's requires a subject.
    ///   - now: the wall clock, in seconds since 1970.
    /// - Returns: the reason for the rejection, or nil.
    func failure(origin: String, fingerprint: String?, service: WebPushService, now: Int64) -> WebPushRejection? {
        guard Double(now) < end else { return .expiredToken }
        guard end <= Double(now) + Self.longestLife else { return .badToken }
        guard audiences.contains(origin) else { return .badAudience }
        if service == .apple, !isContact { return .badToken }
        if let fingerprint, fingerprint != Self.fingerprint(of: publicKey) { return .keyMismatch }
        return nil
    }

    /// Whether Apple accepts the subject: an e-mail address or a page of a real contact.
    private var isContact: Bool {
        guard let subject else { return false }
        if subject.hasPrefix("mailto:") { return subject.contains("@") }
        return subject.hasPrefix("https://") && !subject.hasPrefix("https://localhost")
    }
}
