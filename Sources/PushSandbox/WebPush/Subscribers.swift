import Crypto
import Foundation

/// The simulated browsers: their keys follow from the endpoint's path and a secret of the sandbox.
///
/// So there may be millions of them, and none has to be stored or told about.
struct Subscribers: Sendable {
    private let secret: SymmetricKey

    init(secret: Data) {
        self.secret = SymmetricKey(data: secret)
    }

    /// The keys of the browser behind an endpoint.
    func subscriber(at path: String) -> Subscriber? {
        // A number that is no P-256 key comes up once in four billion.
        for attempt in UInt8.min...3 {
            if let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: derive("p256dh \(attempt) ", path)) {
                return Subscriber(key: key, auth: derive("auth ", path).prefix(16))
            }
        }
        return nil
    }

    private func derive(_ label: String, _ path: String) -> Data {
        Data(HMAC<SHA256>.authenticationCode(for: Data((label + path).utf8), using: secret))
    }
}

/// What a browser knows about its subscription (RFC 8291 section 2).
struct Subscriber {
    let key: P256.KeyAgreement.PrivateKey
    /// The authentication secret, 16 bytes.
    let auth: Data

    /// An uncompressed point.
    var publicKey: Data { key.publicKey.x963Representation }

    /// Decrypts a message meant for this browser (RFC 8291 section 3).
    ///
    /// - Parameter message: the body, taken apart.
    /// - Returns: what the sender encrypted, without padding.
    /// - Throws: `DecryptionFailure`.
    func decrypt(_ message: EncryptedMessage) throws(DecryptionFailure) -> [UInt8] {
        guard let sender = try? P256.KeyAgreement.PublicKey(x963Representation: message.keyID),
            let shared = try? key.sharedSecretFromKeyAgreement(with: sender)
        else { throw .keyIsNoPoint }
        let info = Data("WebPush: info\0".utf8) + publicKey + message.keyID
        let material = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self,
            salt: auth,
            sharedInfo: info,
            outputByteCount: 32
        )
        let record = try ContentKeys(material, salt: message.salt).open(message)
        guard let delimiter = record.lastIndex(where: { $0 != 0 }) else { throw .noDelimiter }
        guard record[delimiter] == 2 else { throw .notTheLastRecord }
        return Array(record[..<delimiter])
    }
}

/// Key and nonce of a message (RFC 8188 section 2).
private struct ContentKeys {
    private let key: SymmetricKey
    private let nonce: Data

    init(_ material: SymmetricKey, salt: Data) {
        let pseudoRandomKey = HKDF<SHA256>.extract(inputKeyMaterial: material, salt: salt)
        key = HKDF<SHA256>.expand(
            pseudoRandomKey: pseudoRandomKey,
            info: Data("Content-Encoding: aes128gcm\0".utf8),
            outputByteCount: 16
        )
        let block = HMAC<SHA256>.authenticationCode(
            for: Data("Content-Encoding: nonce\0\u{1}".utf8),
            using: SymmetricKey(data: Array(pseudoRandomKey))
        )
        nonce = Data(block).prefix(12)
    }

    /// Opens the first record, which in Web Push is the only one, so that its nonce is the base itself.
    func open(_ message: EncryptedMessage) throws(DecryptionFailure) -> Data {
        let tag = 16
        guard message.records.count > tag else { throw .tooShort }
        guard message.recordSize >= message.records.count else { throw .severalRecords }
        guard let nonce = try? AES.GCM.Nonce(data: nonce),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce,
                ciphertext: message.records.dropLast(tag),
                tag: message.records.suffix(tag)
            ),
            let plaintext = try? AES.GCM.open(box, using: key)
        else { throw .notAuthentic }
        return plaintext
    }
}

/// Why a browser cannot read a message.
enum DecryptionFailure: String, Error {
    case keyIsNoPoint = "its key id is no point on P-256"
    case tooShort = "it has no record of 17 bytes or more"
    case severalRecords = "it has more than one record, and RFC 8291 allows one"
    case notAuthentic = "its tag is wrong: encrypted for other keys, or damaged"
    case noDelimiter = "it has no padding delimiter"
    case notTheLastRecord = "its padding delimiter is not 2"
}

/// A body in the content coding `aes128gcm` (RFC 8188 section 2.1).
struct EncryptedMessage {
    /// Bytes before the key id.
    private static let fixedLength = 21

    let salt: Data
    let recordSize: Int
    /// In Web Push the sender's ephemeral public key, uncompressed.
    let keyID: Data
    let records: Data

    /// Takes a body apart; nil if its header is not that of Web Push.
    init?(_ body: some Collection<UInt8>) {
        let bytes = Data(body)
        guard bytes.count >= Self.fixedLength, bytes[20] == 65, bytes.count >= Self.fixedLength + 65 else { return nil }
        salt = bytes[..<16]
        recordSize = bytes[16..<20].reduce(0) { $0 << 8 | Int($1) }
        keyID = bytes[Self.fixedLength..<Self.fixedLength + 65]
        records = bytes[(Self.fixedLength + 65)...]
        guard recordSize >= 18 else { return nil }
    }

    /// Whether the key id can be a public key.
    var hasValidKey: Bool {
        (try? P256.KeyAgreement.PublicKey(x963Representation: keyID)) != nil
    }
}
