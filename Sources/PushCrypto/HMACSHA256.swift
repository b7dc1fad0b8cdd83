internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104), also used for HKDF (RFC 5869).
///
/// An instance is reused, since setting it up costs more than a hash. Used by one thread at a time.
@safe
package final class HMACSHA256 {
    /// The size of a code in bytes.
    package static let size = 32

    private let context: OpaquePointer

    private init(owning context: OpaquePointer) { unsafe self.context = context }

    deinit { unsafe EVP_MAC_CTX_free(context) }

    /// Creates an instance.
    ///
    /// - Returns: an instance for any number of codes.
    /// - Throws: `CryptoError` if OpenSSL has no HMAC or no SHA-256.
    package static func open() throws(CryptoError) -> HMACSHA256 {
        guard let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else { throw CryptoError("EVP_MAC_fetch") }
        defer { unsafe EVP_MAC_free(algorithm) }
        guard let context = unsafe EVP_MAC_CTX_new(algorithm) else { throw CryptoError("EVP_MAC_CTX_new") }
        let code = unsafe HMACSHA256(owning: context)
        guard unsafe copenssl_set_sha256(context) == 1 else { throw CryptoError("EVP_MAC_CTX_set_params") }
        return code
    }

    /// Returns the code of bytes that are given in parts.
    ///
    /// - Parameters:
    ///   - key: the secret, of any length.
    ///   - parts: the bytes, which are concatenated.
    /// - Returns: 32 bytes.
    /// - Throws: `CryptoError` if OpenSSL fails.
    package func code(key: [UInt8], _ parts: [UInt8]...) throws(CryptoError) -> [UInt8] {
        guard unsafe EVP_MAC_init(context, key, key.count, nil) == 1 else { throw CryptoError("EVP_MAC_init") }
        for part in parts {
            guard unsafe EVP_MAC_update(context, part, part.count) == 1 else { throw CryptoError("EVP_MAC_update") }
        }
        var code = [UInt8](repeating: 0, count: Self.size)
        var count = 0
        guard unsafe EVP_MAC_final(context, &code, &count, code.count) == 1, count == Self.size else {
            throw CryptoError("EVP_MAC_final")
        }
        return code
    }

    /// Returns whether a code is that of some bytes, in constant time.
    ///
    /// - Parameters:
    ///   - code: the code to check.
    ///   - key: the secret, of any length.
    ///   - bytes: the bytes that the code is checked against.
    /// - Returns: whether the code is correct.
    /// - Throws: `CryptoError` if OpenSSL fails.
    package func isCode(_ code: [UInt8], key: [UInt8], _ bytes: [UInt8]) throws(CryptoError) -> Bool {
        let expected = try self.code(key: key, bytes)
        return code.count == Self.size && (unsafe CRYPTO_memcmp(code, expected, Self.size)) == 0
    }
}
