internal import COpenSSL

/// SHA-256 (FIPS 180-4), and the functions based on it.
package enum Hashing {
    /// The size of a hash and of an authentication code in bytes.
    private static let size = 32

    /// Returns the hash of bytes.
    ///
    /// - Parameter bytes: the bytes to hash.
    /// - Returns: the hash, 32 bytes.
    package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        var hash = [UInt8](repeating: 0, count: size)
        var count = 0
        let isMade = unsafe EVP_Q_digest(nil, "SHA256", nil, bytes, bytes.count, &hash, &count) == 1
        precondition(isMade && count == size, "OpenSSL has no SHA-256")
        return hash
    }

    /// Returns the authentication code of bytes (HMAC, RFC 2104).
    ///
    /// - Parameters:
    ///   - bytes: the bytes to authenticate.
    ///   - key: the secret.
    /// - Returns: the code, 32 bytes.
    package static func code(of bytes: some Sequence<UInt8>, key: some Sequence<UInt8>) -> [UInt8] {
        let (bytes, key) = (Array(bytes), Array(key))
        var code = [UInt8](repeating: 0, count: size)
        var count = 0
        let isMade =
            unsafe EVP_Q_mac(
                nil,
                "HMAC",
                nil,
                "SHA256",
                nil,
                key,
                key.count,
                bytes,
                bytes.count,
                &code,
                code.count,
                &count
            ) != nil
        precondition(isMade && count == size, "OpenSSL has no HMAC")
        return code
    }

    /// Verifies an authentication code in constant time.
    ///
    /// - Parameters:
    ///   - code: the code as received.
    ///   - bytes: the bytes to authenticate.
    ///   - key: the secret.
    /// - Returns: whether the code is correct.
    package static func isCode(
        _ code: some Sequence<UInt8>,
        of bytes: some Sequence<UInt8>,
        key: some Sequence<UInt8>
    ) -> Bool {
        let (code, expected) = (Array(code), self.code(of: bytes, key: key))
        return code.count == expected.count && (unsafe CRYPTO_memcmp(code, expected, expected.count)) == 0
    }

    /// Derives bytes from a secret (HKDF, RFC 5869).
    ///
    /// - Parameters:
    ///   - count: the number of bytes.
    ///   - material: the secret.
    ///   - salt: the salt, different for each use.
    ///   - info: the purpose of the bytes.
    /// - Returns: the bytes.
    /// - Throws: ``OpenSSLFailure``.
    package static func derive(
        _ count: Int,
        from material: [UInt8],
        salt: some Sequence<UInt8>,
        info: some Sequence<UInt8>
    ) throws(OpenSSLFailure) -> [UInt8] {
        let (salt, info) = (Array(salt), Array(info))
        guard let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil) else {
            throw OpenSSLFailure("EVP_PKEY_CTX_new_id")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var bytes = [UInt8](repeating: 0, count: count)
        var made = count
        guard unsafe EVP_PKEY_derive_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1,
            unsafe EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(salt.count)) == 1,
            unsafe EVP_PKEY_CTX_set1_hkdf_key(context, material, Int32(material.count)) == 1,
            unsafe EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(info.count)) == 1,
            unsafe EVP_PKEY_derive(context, &bytes, &made) == 1, made == count
        else { throw OpenSSLFailure("EVP_PKEY_derive") }
        return bytes
    }
}
