import Foundation
import SandboxCrypto

/// A provider token with a valid signature, key and team; its age is checked at each use.
struct ProviderToken {
    /// `iat`, in seconds since 1970.
    let issuedAt: Int64
}

/// Verifies provider authentication tokens: JWS compact serialization, ES256 (RFC 7515, RFC 7518 section 3.4).
struct ProviderTokenVerifier: Sendable {
    let teamID: String
    let keyID: String
    let publicKey: P256PublicKey

    /// Checks everything except the age.
    ///
    /// - Parameter text: the token without the scheme.
    /// - Returns: the token, or nil if it is malformed, signed by another key or issued by another team.
    func verify(_ text: Substring) -> ProviderToken? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = decode(Header.self, parts[0]), header.alg == "ES256", header.kid == keyID,
            let claims = decode(Claims.self, parts[1]), claims.iss == teamID,
            // Raw r and s, 32 bytes each; a DER signature is the most common mistake and must be rejected.
            let signature = Data(base64URL: parts[2]),
            publicKey.hasSigned((parts[0] + "." + parts[1]).utf8, signature)
        else { return nil }
        return ProviderToken(issuedAt: claims.iat)
    }

    private func decode<Part: Decodable>(_ type: Part.Type, _ text: Substring) -> Part? {
        guard let data = Data(base64URL: text) else { return nil }
        return try? JSONDecoder().decode(type, from: data)
    }

    private struct Header: Decodable {
        let alg: String
        let kid: String
    }

    private struct Claims: Decodable {
        let iss: String
        let iat: Int64

        enum CodingKeys: CodingKey {
            case iss, iat
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            iss = try container.decode(String.self, forKey: .iss)
            // The real service accepts a quoted number too.
            if let text = try? container.decode(String.self, forKey: .iat) {
                guard let seconds = Int64(text) else {
                    throw DecodingError.dataCorruptedError(forKey: .iat, in: container, debugDescription: "no number")
                }
                iat = seconds
            } else {
                iat = try container.decode(Int64.self, forKey: .iat)
            }
        }
    }
}
