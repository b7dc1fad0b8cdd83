import Crypto
import Foundation
import PushCrypto

@testable import FanfareAPI

/// An app's backend that signs phones' tokens, and whoever would like to be it.
struct TokenForge: Sendable {
    /// By what a token is signed.
    enum Signer: Sendable {
        case secret([UInt8])
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
        /// Not at all.
        case nothing
    }

    let secret = (0..<32).map { _ in UInt8.random(in: 0...255) }
    let p256 = P256.Signing.PrivateKey()
    let ed25519 = Curve25519.Signing.PrivateKey()

    /// The keys that verify, one of each kind: `h`, `e`, `o`.
    var keySet: String { #"{"keys": [\#(secretKey), \#(p256Key), \#(ed25519Key)]}"# }

    var secretKey: String { #"{"kty": "oct", "kid": "h", "k": "\#(Base64URL.encode(secret))"}"# }

    var p256Key: String {
        let point = Array(p256.publicKey.rawRepresentation)
        let (x, y) = (Base64URL.encode(point[..<32]), Base64URL.encode(point[32...]))
        return #"{"kty": "EC", "crv": "P-256", "kid": "e", "x": "\#(x)", "y": "\#(y)", "use": "sig", "alg": "ES256"}"#
    }

    var ed25519Key: String {
        let x = Base64URL.encode(Array(ed25519.publicKey.rawRepresentation))
        return #"{"kty": "OKP", "crv": "Ed25519", "kid": "o", "x": "\#(x)", "key_ops": ["verify"]}"#
    }

    /// A token as the backend makes it, for an hour.
    ///
    /// - Parameters:
    ///   - user: its `sub`.
    ///   - now: seconds since 1970.
    func token(_ user: String, now: Int64 = Self.now) -> String {
        Self.token(#"{"alg": "HS256", "kid": "h"}"#, Self.claims(user, now: now), .secret(secret))
    }

    /// Claims that are taken.
    ///
    /// - Parameters:
    ///   - user: their `sub`, as it stands in JSON.
    ///   - more: further members.
    ///   - now: seconds since 1970.
    static func claims(_ user: String, _ more: String = "", now: Int64 = Self.now) -> String {
        #"{"sub": "\#(user)", "aud": "shop", "iat": \#(now), "exp": \#(now + 3600)\#(more.isEmpty ? "" : ", " + more)}"#
    }

    /// A token of any header and claims, signed by anybody.
    static func token(_ header: String, _ claims: String, _ signer: Signer) -> String {
        let signed = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
        return "\(signed).\(Base64URL.encode(signature(Array(signed.utf8), signer)))"
    }

    private static func signature(_ bytes: [UInt8], _ signer: Signer) -> [UInt8] {
        switch signer {
        case .secret(let secret):
            Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: secret)))
        case .p256(let key): (try? key.signature(for: bytes).rawRepresentation).map(Array.init) ?? []
        case .ed25519(let key): (try? key.signature(for: bytes)).map(Array.init) ?? []
        case .nothing: []
        }
    }

    static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
