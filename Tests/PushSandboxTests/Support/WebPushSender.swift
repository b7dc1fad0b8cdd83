import Foundation

@testable import PushCrypto
@testable import PushSandbox

/// Sends to browsers like an application server, with the sender's cryptography.
struct WebPushSender {
    let subscription: PushSubscription
    var signingKey: SigningKey

    init(_ subscription: PushSubscription, keyFile: String) throws {
        self.subscription = subscription
        signingKey = try SigningKey.load(pemFile: keyFile, expecting: .es256)
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

    /// Returns `vapid t=…, k=…`.
    func authorization(
        header: String = #"{"typ":"JWT","alg":"ES256"}"#,
        claims: String,
        der: Bool = false,
        publicKey: String? = nil
    ) throws -> String {
        let signed = Data(header.utf8).base64URL + "." + Data(claims.utf8).base64URL
        let signature = try signingKey.sign(Array(signed.utf8))
        let bytes = der ? ecdsaDER(fromRaw: signature) : signature
        let key = try publicKey ?? Data(signingKey.publicPoint()).base64URL
        return "vapid t=\(signed).\(Data(bytes).base64URL), k=\(key)"
    }

    /// Encrypts a message by RFC 8291, in one record of at most 4096 bytes.
    ///
    /// - Parameters:
    ///   - plaintext: the message.
    ///   - padding: the number of zeroes after it.
    ///   - delimiter: 2 for the last record.
    ///   - keyID: replaces the key id, which is normally the public key.
    func encrypt(
        _ plaintext: [UInt8],
        padding: Int = 0,
        delimiter: UInt8 = 2,
        keyID: [UInt8]? = nil
    ) throws -> [UInt8] {
        let receiver = Array(Data(base64URL: subscription.keys.p256dh[...]) ?? Data())
        let auth = Array(Data(base64URL: subscription.keys.auth[...]) ?? Data())
        let key = try EphemeralKey.open()
        try key.renew()
        let sender = try key.publicKey()
        let hmac = try HMACSHA256.open()
        let inner = try hmac.code(key: auth, key.sharedSecret(with: receiver))
        let material = try hmac.code(key: inner, Array("WebPush: info\0".utf8), receiver, sender, [1])
        let salt = try randomBytes(16)
        let outer = try hmac.code(key: salt, material)
        let contentKey = try hmac.code(key: outer, Array("Content-Encoding: aes128gcm\0\u{1}".utf8)).prefix(16)
        let nonce = try hmac.code(key: outer, Array("Content-Encoding: nonce\0\u{1}".utf8)).prefix(12)
        var record = plaintext + [delimiter] + Array(repeating: 0, count: padding)
        try AES128GCM.open().seal(&record, from: 0, key: contentKey, nonce: nonce)
        return salt + [0, 0, 16, 0, 65] + (keyID ?? sender) + record
    }
}
