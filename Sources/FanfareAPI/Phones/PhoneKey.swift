internal import PushCrypto

/// A key that an app's backend signs phone tokens with.
///
/// The key determines the algorithm, and the token's header must name the same one, so that a token cannot choose how
/// it is verified.
struct PhoneKey: Sendable {
    /// The signature algorithms, by their names in RFC 7518 and 8037.
    enum Algorithm: String, Sendable {
        case hs256 = "HS256"
        case es256 = "ES256"
        case edDSA = "EdDSA"
    }

    private enum Material: Sendable {
        case secret([UInt8])
        case publicKey(VerifyingKey)
    }

    /// The id by which tokens name the key; nil for the only key of a set.
    let id: String?
    let algorithm: Algorithm
    private let material: Material

    /// Creates a shared secret.
    ///
    /// - Parameters:
    ///   - id: the id by which tokens name it.
    ///   - secret: 32 bytes or more.
    init(id: String?, secret: [UInt8]) {
        (self.id, algorithm) = (id, .hs256)
        material = .secret(secret)
    }

    /// Creates a public key on P-256; nil if the coordinates are not on the curve.
    ///
    /// - Parameters:
    ///   - id: the id by which tokens name it.
    ///   - x: 32 bytes.
    ///   - y: 32 bytes.
    init?(id: String?, x: [UInt8], y: [UInt8]) {
        guard let key = VerifyingKey.p256([4] + x + y) else { return nil }
        (self.id, algorithm) = (id, .es256)
        material = .publicKey(key)
    }

    /// Creates a public key on Ed25519; nil for a point of small order, which accepts forged signatures.
    ///
    /// - Parameters:
    ///   - id: the id by which tokens name it.
    ///   - bytes: 32 bytes.
    init?(id: String?, ed25519 bytes: [UInt8]) {
        guard !Self.isOfSmallOrder(bytes), let key = VerifyingKey.ed25519(bytes) else { return nil }
        (self.id, algorithm) = (id, .edDSA)
        material = .publicKey(key)
    }

    /// Verifies a signature.
    ///
    /// - Parameters:
    ///   - bytes: the signed bytes.
    ///   - signature: the signature as received.
    /// - Returns: whether the signature is this key's; a secret is compared in constant time.
    func hasSigned(_ bytes: [UInt8], _ signature: [UInt8]) -> Bool {
        switch material {
        case .secret(let secret): (try? HMACSHA256.open().isCode(signature, key: secret, bytes)) ?? false
        case .publicKey(let key): key.hasSigned(bytes, signature)
        }
    }

    /// Whether a key is the y of a point whose order divides 8, in any encoding: with such a key anyone can forge
    /// signatures.
    private static func isOfSmallOrder(_ bytes: [UInt8]) -> Bool {
        var y = bytes
        y[31] &= 0x7f
        let middle = [UInt8](repeating: 255, count: 30)
        let low: [[UInt8]] = [[UInt8](repeating: 0, count: 32), [1] + [UInt8](repeating: 0, count: 31)]
        let high: [[UInt8]] = [0xec, 0xed, 0xee].map { [$0] + middle + [0x7f] }
        let eighth: [[UInt8]] = [
            [
                0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
                0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
            ],
            [
                0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
                0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
            ],
        ]
        return (low + high + eighth).contains(y)
    }
}
