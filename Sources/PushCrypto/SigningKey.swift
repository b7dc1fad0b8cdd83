internal import COpenSSL

/// A private key that signs provider tokens.
///
/// Safe to share between threads.
@safe
public final class SigningKey: @unchecked Sendable {
    // Sendable: the EVP_PKEY is never changed after `init`, and OpenSSL 3 locks its caches and reference count itself.
    let key: OpaquePointer

    /// The algorithm that the key signs with.
    public let algorithm: Algorithm

    /// A JSON Web Signature algorithm (RFC 7518 section 3.1).
    public enum Algorithm: String, Sendable, CaseIterable {
        /// ECDSA on P-256 with SHA-256: APNs and VAPID.
        case es256 = "ES256"
        /// RSA PKCS #1 v1.5 with SHA-256: Google service accounts.
        case rs256 = "RS256"

        /// The key's type in error messages.
        var keyDescription: String {
            switch self {
            case .es256: "an EC P-256 key (an APNs .p8 file, or: openssl ecparam -name prime256v1 -genkey -noout)"
            case .rs256: "an RSA key of at least 2048 bits (private_key of a Google service account)"
            }
        }
    }

    init(owning key: OpaquePointer, algorithm: Algorithm) {
        unsafe self.key = key
        self.algorithm = algorithm
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Reads a PEM private key from a file that only its owner may read.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - algorithm: the required algorithm; a key of another type is rejected.
    ///   - guardedFolders: folders that are protected by other means, such as `$CREDENTIALS_DIRECTORY` and
    ///     `/run/secrets`; below them the file's mode is not checked.
    /// - Returns: the key.
    /// - Throws: ``KeyError``, which says how to fix it.
    public static func load(
        pemFile path: String,
        expecting algorithm: Algorithm,
        guardedFolders: [String] = []
    ) throws(KeyError) -> SigningKey {
        let file = try KeyFile.read(path, guardedFolders: guardedFolders)
        return try file.withBytes { bytes throws(KeyError) in
            try parse(pem: bytes, expecting: algorithm, source: path)
        }
    }

    /// Decodes a PEM private key.
    ///
    /// - Parameters:
    ///   - pem: PKCS #8, SEC 1 or PKCS #1, not encrypted.
    ///   - algorithm: the required algorithm; a key of another type is rejected.
    ///   - source: the file's name, for errors.
    /// - Returns: the key.
    /// - Throws: ``KeyError``.
    public static func parse(
        pem: borrowing [UInt8],
        expecting algorithm: Algorithm,
        source: String
    ) throws(KeyError) -> SigningKey {
        try KnownKeys.key(pem, algorithm) { pem throws(KeyError) in
            try decode(pem, expecting: algorithm, source: source)
        }
    }

    private static func decode(
        _ pem: borrowing [UInt8],
        expecting algorithm: Algorithm,
        source: String
    ) throws(KeyError) -> SigningKey {
        if let reason = PEMBlocks(pem).obstacle { throw KeyError(reason: reason, source: source) }
        guard let key = unsafe PEMReader.privateKey(pem) else {
            throw KeyError(reason: .malformed(drainOpenSSLErrors()), source: source)
        }
        let signingKey = unsafe SigningKey(owning: key, algorithm: algorithm)
        if let reason = signingKey.mismatch() { throw KeyError(reason: reason, source: source) }
        return signingKey
    }

    /// Signs a message in the form of RFC 7518: for ES256 the raw `r || s`, 64 bytes; not DER.
    ///
    /// ECDSA is randomised: each signature of the same message is different.
    ///
    /// - Parameter message: the message, which is hashed here.
    /// - Returns: the signature.
    /// - Throws: ``CryptoError``.
    public func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let signature = try signNatively(message)
        return algorithm == .es256 ? try rawSignature(fromDER: signature) : signature
    }

    private func signNatively(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let context = unsafe EVP_MD_CTX_new() else { throw CryptoError("EVP_MD_CTX_new") }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1 else {
            throw CryptoError("EVP_DigestSignInit")
        }
        var length = Int(unsafe EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else {
            throw CryptoError("EVP_DigestSign")
        }
        signature.removeLast(signature.count - length)
        return signature
    }

    private func rawSignature(fromDER der: [UInt8]) throws(CryptoError) -> [UInt8] {
        let decoded = unsafe der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &position, buffer.count)
        }
        guard let decoded = unsafe decoded else { throw CryptoError("d2i_ECDSA_SIG") }
        defer { unsafe ECDSA_SIG_free(decoded) }
        let half = 32
        var r = [UInt8](repeating: 0, count: half)
        var s = r
        let filled = unsafe (
            BN_bn2binpad(ECDSA_SIG_get0_r(decoded), &r, Int32(half)),
            BN_bn2binpad(ECDSA_SIG_get0_s(decoded), &s, Int32(half))
        )
        guard filled == (32, 32) else { throw CryptoError("BN_bn2binpad") }
        return r + s
    }

    /// Returns the reason why the key cannot be used with its algorithm; nil if it can.
    private func mismatch() -> KeyError.Reason? {
        let kind = unsafe EVP_PKEY_get_base_id(key)
        switch (algorithm, kind) {
        case (.es256, EVP_PKEY_EC):
            let curve = curveName()
            return curve == "P-256" ? nil : .wrongCurve(found: curve, expected: algorithm.keyDescription)
        case (.rs256, EVP_PKEY_RSA):
            let bits = unsafe EVP_PKEY_get_bits(key)
            return bits >= 2048 ? nil : .wrongKind(found: "a \(bits)-bit RSA", expected: algorithm.keyDescription)
        default:
            return .wrongKind(found: kindName(kind), expected: algorithm.keyDescription)
        }
    }

    private func kindName(_ kind: Int32) -> String {
        switch kind {
        case EVP_PKEY_EC: return "an EC"
        case EVP_PKEY_RSA: return "an RSA"
        default:
            guard let name = unsafe EVP_PKEY_get0_type_name(key) else { return "another" }
            return unsafe "a(n) " + String(cString: name)
        }
    }

    private func curveName() -> String {
        var name = [CChar](repeating: 0, count: 64)
        guard unsafe EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1 else { return "unknown" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        switch text {
        case "prime256v1", "P-256": return "P-256"
        case "secp384r1", "P-384": return "P-384"
        case "secp521r1", "P-521": return "P-521"
        default: return text
        }
    }
}
