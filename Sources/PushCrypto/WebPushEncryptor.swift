/// Encrypts Web Push payloads for their subscribers (RFC 8291, content coding `aes128gcm` of RFC 8188).
///
/// Each message gets a new key pair and a new salt; only their memory is reused, for speed. Used by one thread at a
/// time: create one per thread. A message of 400 bytes costs about 90 µs of CPU, nearly all of it for two
/// multiplications on the curve.
public final class WebPushEncryptor {
    /// The maximum plaintext size whose message fits into the 4096 bytes that every push service accepts (RFC 8030
    /// section 7.2).
    public static let plaintextLimit = 3993

    private static let recordSize: [UInt8] = [0x00, 0x00, 0x10, 0x00]
    /// The size of a message without payload and padding: header, mark and tag.
    private static let overhead = 103

    private static let saltSize = 16
    private static let keyInfo = Array("WebPush: info\0".utf8)
    private static let encryptionInfo = Array("Content-Encoding: aes128gcm\0\u{1}".utf8)
    private static let nonceInfo = Array("Content-Encoding: nonce\0\u{1}".utf8)

    private let ephemeral: EphemeralKey
    private let hmac: HMACSHA256
    private let cipher: AES128GCM

    /// Creates an encryptor.
    ///
    /// - Throws: ``CryptoError`` if OpenSSL lacks an algorithm or memory.
    public init() throws(CryptoError) {
        ephemeral = try EphemeralKey.open()
        hmac = try HMACSHA256.open()
        cipher = try AES128GCM.open()
    }

    /// Encrypts one payload for one subscriber, as a body for `Content-Encoding: aes128gcm`.
    ///
    /// - Parameters:
    ///   - plaintext: the payload.
    ///   - keys: the subscriber's keys.
    ///   - padding: the number of zeroes that hide the payload's length.
    /// - Returns: 103 bytes more than payload and padding: header, one record, tag.
    /// - Throws: ``WebPushEncryptionError`` if payload and padding have more than ``plaintextLimit`` bytes together.
    public func encrypt(
        _ plaintext: [UInt8],
        for keys: SubscriptionKeys,
        padding: Int = 0
    ) throws(WebPushEncryptionError) -> [UInt8] {
        precondition(padding >= 0, "negative padding")
        let count = plaintext.count + padding
        guard count <= Self.plaintextLimit else {
            throw .tooLong(count: count, limit: Self.plaintextLimit)
        }
        do throws(CryptoError) {
            try ephemeral.renew()
            return try seal(plaintext, for: keys, salt: randomBytes(Self.saltSize), padding: padding)
        } catch {
            throw .failed(error)
        }
    }

    /// Encrypts with a given key and salt.
    ///
    /// For test vectors only: the two together must never be used twice.
    func encrypt(
        _ plaintext: [UInt8],
        for keys: SubscriptionKeys,
        ephemeralKey: [UInt8],
        salt: [UInt8],
        padding: Int = 0
    ) throws(CryptoError) -> [UInt8] {
        try ephemeral.set(ephemeralKey)
        return try seal(plaintext, for: keys, salt: salt, padding: padding)
    }

    private func seal(
        _ plaintext: [UInt8],
        for keys: SubscriptionKeys,
        salt: [UInt8],
        padding: Int
    ) throws(CryptoError) -> [UInt8] {
        let publicKey = try ephemeral.publicKey()
        let shared = try ephemeral.sharedSecret(with: keys.publicKey)
        // RFC 8291 section 3.4: the receiver's key first; the last byte is HKDF's counter.
        let inner = try hmac.code(key: keys.authenticationSecret, shared)
        let material = try hmac.code(key: inner, Self.keyInfo, keys.publicKey, publicKey, [1])
        // RFC 8188 section 2.2 and 2.3.
        let outer = try hmac.code(key: salt, material)
        let key = try hmac.code(key: outer, Self.encryptionInfo)
        let nonce = try hmac.code(key: outer, Self.nonceInfo)
        var body: [UInt8] = []
        body.reserveCapacity(plaintext.count + padding + Self.overhead)
        body += salt
        body += Self.recordSize
        body.append(UInt8(publicKey.count))
        body += publicKey
        let start = body.count
        body += plaintext
        // Marks the last record, which is the only one.
        body.append(2)
        body.append(contentsOf: repeatElement(0, count: padding))
        try cipher.seal(
            &body,
            from: start,
            key: key.prefix(AES128GCM.keySize),
            nonce: nonce.prefix(AES128GCM.nonceSize)
        )
        return body
    }
}

/// The reason why a payload could not be encrypted.
public enum WebPushEncryptionError: Error, Equatable, CustomStringConvertible {
    /// Payload and padding are too long for a push message.
    case tooLong(count: Int, limit: Int)
    /// An OpenSSL operation failed.
    case failed(CryptoError)

    /// One line for the operator, without the payload.
    public var description: String {
        switch self {
        case .tooLong(let count, let limit):
            "Web Push payload: \(count) bytes are more than \(limit); shorten the message or its data"
        case .failed(let error):
            error.description
        }
    }
}
