import Foundation
import SandboxCrypto

/// The simulated browsers, whose keys are derived from the endpoint's path and a secret of the sandbox.
///
/// There may be millions of them, and none has to be stored or registered.
struct Subscribers: Sendable {
    private let secret: Data

    init(secret: Data) {
        self.secret = secret
    }

    /// Returns the keys of the browser behind an endpoint.
    func subscriber(at path: String) -> Subscriber? {
        // A number that is no P-256 key occurs once in four billion.
        for attempt in UInt8.min...3 {
            if let key = P256PrivateKey(scalar: derive("p256dh \(attempt) ", path)) {
                return Subscriber(key: key, auth: Data(derive("auth ", path).prefix(16)))
            }
        }
        return nil
    }

    private func derive(_ label: String, _ path: String) -> [UInt8] {
        Hashing.code(of: (label + path).utf8, key: secret)
    }
}

/// A browser's keys for its subscription (RFC 8291 section 2).
struct Subscriber {
    let key: P256PrivateKey
    /// The authentication secret, 16 bytes.
    let auth: Data

    /// The public key, an uncompressed point.
    var publicKey: Data { Data(key.publicKey.point) }

    /// Decrypts a message for this browser (RFC 8291 section 3).
    ///
    /// - Parameter message: the parsed body.
    /// - Returns: the plaintext without padding.
    /// - Throws: `DecryptionFailure`.
    func decrypt(_ message: EncryptedMessage) throws(DecryptionFailure) -> [UInt8] {
        guard let sender = P256PublicKey(point: message.keyID), let shared = try? key.sharedSecret(with: sender)
        else { throw .keyIsNoPoint }
        let info = Data("WebPush: info\0".utf8) + publicKey + message.keyID
        guard let material = try? Hashing.derive(32, from: shared, salt: auth, info: info),
            let keys = try? ContentKeys(material, salt: message.salt)
        else { throw .notAuthentic }
        let record = try keys.open(message)
        guard let delimiter = record.lastIndex(where: { $0 != 0 }) else { throw .noDelimiter }
        guard record[delimiter] == 2 else { throw .notTheLastRecord }
        return Array(record[..<delimiter])
    }
}

/// The key and the nonce of a message (RFC 8188 section 2).
private struct ContentKeys {
    private let key: [UInt8]
    private let nonce: [UInt8]

    init(_ material: [UInt8], salt: Data) throws {
        key = try Hashing.derive(16, from: material, salt: salt, info: "Content-Encoding: aes128gcm\0".utf8)
        nonce = try Hashing.derive(12, from: material, salt: salt, info: "Content-Encoding: nonce\0".utf8)
    }

    /// Decrypts the first record, which in Web Push is the only one, so that its nonce is the base nonce.
    func open(_ message: EncryptedMessage) throws(DecryptionFailure) -> [UInt8] {
        let tag = 16
        guard message.records.count > tag else { throw .tooShort }
        guard message.recordSize >= message.records.count else { throw .severalRecords }
        guard let plaintext = AES128GCM.open(message.records, key: key, nonce: nonce) else { throw .notAuthentic }
        return plaintext
    }
}

/// The reason why a browser cannot decrypt a message.
enum DecryptionFailure: String, Error {
    case keyIsNoPoint = "its key id is not a point on P-256"
    case tooShort = "it has no record of 17 bytes or more"
    case severalRecords = "it has more than one record, and RFC 8291 allows one"
    case notAuthentic = "its tag is wrong: encrypted for other keys, or damaged"
    case noDelimiter = "it has no padding delimiter"
    case notTheLastRecord = "its padding delimiter is not 2"
}

/// A body in the content coding `aes128gcm` (RFC 8188 section 2.1).
struct EncryptedMessage {
    /// The number of bytes before the key id.
    private static let fixedLength = 21

    let salt: Data
    let recordSize: Int
    /// The key id: in Web Push, the sender's ephemeral public key, uncompressed.
    let keyID: Data
    let records: Data

    /// Parses a body; nil if its header is not that of Web Push.
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
        P256PublicKey(point: keyID) != nil
    }
}
