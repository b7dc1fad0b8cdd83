import Crypto
import Foundation

@testable import PushSandbox

/// Sends to browsers as an application server does, in code of its own.
struct WebPushSender {
    let subscription: PushSubscription
    var signingKey: P256.Signing.PrivateKey

    init(_ subscription: PushSubscription, keyFile: String) throws {
        self.subscription = subscription
        signingKey = try P256.Signing.PrivateKey(pemRepresentation: String(contentsOfFile: keyFile, encoding: .utf8))
    }

    var origin: String { subscription.endpoint.split(separator: "/").prefix(2).joined(separator: "//") }
    var path: String { String(subscription.endpoint.dropFirst(origin.count)) }

    func request(_ plaintext: String, at now: Int64, padding: Int = 0) throws -> TestRequest {
        try request(body: encrypt(Array(plaintext.utf8), padding: padding), at: now)
    }

    func request(body: [UInt8], at now: Int64) throws -> TestRequest {
        let claims = #"{"aud":"\#(origin)","exp":\#(now + 43_200),"sub":"mailto:push@example.com"}"#
        let headers = [
            ("ttl", "60"), ("content-encoding", "aes128gcm"), ("authorization", try authorization(claims: claims)),
        ]
        return TestRequest(path: path, headers: headers)
            .with(authority: String(origin.dropFirst("https://".count))).with(content: body)
    }

    /// `vapid t=…, k=…`.
    func authorization(
        header: String = #"{"typ":"JWT","alg":"ES256"}"#,
        claims: String,
        der: Bool = false,
        publicKey: String? = nil
    ) throws -> String {
        let signed = Data(header.utf8).base64URL + "." + Data(claims.utf8).base64URL
        let signature = try signingKey.signature(for: Data(signed.utf8))
        let bytes = der ? signature.derRepresentation : signature.rawRepresentation
        let key = publicKey ?? signingKey.publicKey.x963Representation.base64URL
        return "vapid t=\(signed).\(bytes.base64URL), k=\(key)"
    }

    /// RFC 8291, one record of 4096 bytes at most.
    func encrypt(
        _ plaintext: [UInt8],
        padding: Int = 0,
        delimiter: UInt8 = 2,
        with key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey()
    ) throws -> [UInt8] {
        let receiver = Data(base64URL: subscription.keys.p256dh[...]) ?? Data()
        let auth = Data(base64URL: subscription.keys.auth[...]) ?? Data()
        let sender = key.publicKey.x963Representation
        let secret = try key.sharedSecretFromKeyAgreement(with: .init(x963Representation: receiver))
        let material = secret.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: auth,
            sharedInfo: Data("WebPush: info\0".utf8) + receiver + sender,
            outputByteCount: 32
        )
        let salt = Data((0..<16).map { _ in UInt8.random(in: 0...255) })
        let contentKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: material,
            salt: salt,
            info: Data("Content-Encoding: aes128gcm\0".utf8),
            outputByteCount: 16
        )
        let nonce = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: material,
            salt: salt,
            info: Data("Content-Encoding: nonce\0".utf8),
            outputByteCount: 12
        )
        let box = try AES.GCM.seal(
            Data(plaintext + [delimiter]) + Data(count: padding),
            using: contentKey,
            nonce: nonce.withUnsafeBytes { try AES.GCM.Nonce(data: $0) }
        )
        return Array(salt + [0, 0, 16, 0, 65] + sender + box.ciphertext + box.tag)
    }
}
