import Foundation
import PushCrypto

/// An app's backend that signs phone tokens, and an attacker that forges them.
struct TokenForge: Sendable {
    /// The key that a token is signed with.
    enum Signer: Sendable {
        case secret([UInt8])
        case p256(SigningKey)
        case ed25519(Ed25519Key)
        /// No signature.
        case nothing
    }

    let secret = (0..<32).map { _ in UInt8.random(in: 0...255) }
    let p256 = Self.made { try SigningKey.generateES256() }
    let ed25519 = Ed25519Key()
    /// The public key of `p256`: 4, x, y.
    let point: [UInt8]

    init() { point = Self.made { [p256] in try p256.publicPoint() } }

    /// The public key set, with one key of each kind: `h`, `e`, `o`.
    var keySet: String { #"{"keys": [\#(secretKey), \#(p256Key), \#(ed25519Key)]}"# }

    var secretKey: String { #"{"kty": "oct", "kid": "h", "k": "\#(Base64URL.encode(secret))"}"# }

    var p256Key: String {
        let (x, y) = (Base64URL.encode(point[1...32]), Base64URL.encode(point[33...]))
        return #"{"kty": "EC", "crv": "P-256", "kid": "e", "x": "\#(x)", "y": "\#(y)", "use": "sig", "alg": "ES256"}"#
    }

    var ed25519Key: String {
        let x = Base64URL.encode(ed25519.publicKey)
        return #"{"kty": "OKP", "crv": "Ed25519", "kid": "o", "x": "\#(x)", "key_ops": ["verify"]}"#
    }

    /// The point in the usual form of public keys: DER (RFC 5480).
    var pointDER: [UInt8] {
        Array(Data(base64Encoded: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE") ?? Data()) + point.dropFirst()
    }

    /// The same as PEM.
    var pointPEM: String {
        let text = Data(pointDER).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----"
    }

    /// Returns a token that is valid for an hour.
    ///
    /// - Parameters:
    ///   - user: the `sub` claim.
    ///   - now: the time, in seconds since 1970.
    func token(_ user: String, now: Int64 = Self.now) -> String {
        Self.token(#"{"alg": "HS256", "kid": "h"}"#, Self.claims(user, now: now), .secret(secret))
    }

    /// Returns valid claims.
    ///
    /// - Parameters:
    ///   - user: the `sub` claim as JSON.
    ///   - more: further members.
    ///   - now: the time, in seconds since 1970.
    static func claims(_ user: String, _ more: String = "", now: Int64 = Self.now) -> String {
        #"{"sub": "\#(user)", "aud": "shop", "iat": \#(now), "exp": \#(now + 3600)\#(more.isEmpty ? "" : ", " + more)}"#
    }

    /// Returns a token with any header, claims and signature.
    static func token(_ header: String, _ claims: String, _ signer: Signer) -> String {
        let signed = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(Array(claims.utf8)))"
        return "\(signed).\(Base64URL.encode(signature(Array(signed.utf8), signer)))"
    }

    private static func signature(_ bytes: [UInt8], _ signer: Signer) -> [UInt8] {
        switch signer {
        case .secret(let secret):
            code(of: bytes, secret)
        case .p256(let key): made { try key.sign(bytes) }
        case .ed25519(let key): key.sign(bytes)
        case .nothing: []
        }
    }

    /// Computes HMAC-SHA-256 as RFC 2104 defines it, from the hash function alone.
    private static func code(of bytes: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        let key = secret.count > 64 ? sha256(secret) : secret
        let block = key + [UInt8](repeating: 0, count: 64 - key.count)
        return sha256(block.map { $0 ^ 0x5C } + sha256(block.map { $0 ^ 0x36 } + bytes))
    }

    private static func made<Value>(_ make: () throws -> Value) -> Value {
        do {
            return try make()
        } catch {
            preconditionFailure("\(error)")
        }
    }

    static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
