import COpenSSL

/// A private key for EdDSA (RFC 8032); Fanfare itself only verifies.
struct Ed25519Key: Sendable {
    private let secret = (0..<32).map { _ in UInt8.random(in: 0...255) }

    /// The public key, 32 bytes.
    var publicKey: [UInt8] {
        withKey { key in
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = bytes.count
            precondition(EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 && count == 32)
            return bytes
        }
    }

    /// Signs a message.
    ///
    /// - Parameter message: the message.
    /// - Returns: the signature, 64 bytes.
    func sign(_ message: [UInt8]) -> [UInt8] {
        withKey { key in
            let context = EVP_MD_CTX_new()
            defer { EVP_MD_CTX_free(context) }
            var signature = [UInt8](repeating: 0, count: 64)
            var count = signature.count
            precondition(EVP_DigestSignInit(context, nil, nil, nil, key) == 1)
            precondition(EVP_DigestSign(context, &signature, &count, message, message.count) == 1 && count == 64)
            return signature
        }
    }

    private func withKey(_ body: (OpaquePointer?) -> [UInt8]) -> [UInt8] {
        let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, secret, secret.count)
        defer { EVP_PKEY_free(key) }
        return body(key)
    }
}
