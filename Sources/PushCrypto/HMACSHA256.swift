internal import COpenSSL

/// HMAC with SHA-256 (RFC 2104), and with it HKDF (RFC 5869); reused, since setting it up costs more than a hash.
///
/// Used by one thread at a time.
@safe
package final class HMACSHA256 {
    /// Bytes of a code.
    package static let size = 32

    private let context: OpaquePointer

    private init(owning context: OpaquePointer) { unsafe self.context = context }

    deinit { unsafe EVP_MAC_CTX_free(context) }

    /// Sets one up.
    ///
    /// - Returns: one for any number of codes.
    /// - Throws: `CryptoError` if OpenSSL has no HMAC or no SHA-256.
    package static func open() throws(CryptoError) -> HMACSHA256 {
        guard let algorithm = unsafe EVP_MAC_fetch(nil, "HMAC", nil) else { throw CryptoError("EVP_MAC_fetch") }
        defer { unsafe EVP_MAC_free(algorithm) }
        guard let context = unsafe EVP_MAC_CTX_new(algorithm) else { throw CryptoError("EVP_MAC_CTX_new") }
        let code = unsafe HMACSHA256(owning: context)
        guard unsafe copenssl_set_sha256(context) == 1 else { throw CryptoError("EVP_MAC_CTX_set_params") }
        return code
    }

    /// The code of some bytes, given in parts.
    ///
    /// - Parameters:
    ///   - key: the secret, of any length.
    ///   - parts: the bytes, as if they were one after the other.
    /// - Returns: 32 bytes.
    /// - Throws: `CryptoError` if OpenSSL cannot.
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

    /// Whether a code is that of some bytes; takes the same time wherever it differs.
    ///
    /// - Parameters:
    ///   - code: as it came.
    ///   - key: the secret, of any length.
    ///   - bytes: what it is said to be the code of.
    /// - Returns: whether it is.
    /// - Throws: `CryptoError` if OpenSSL cannot.
    package func isCode(_ code: [UInt8], key: [UInt8], _ bytes: [UInt8]) throws(CryptoError) -> Bool {
        let expected = try self.code(key: key, bytes)
        return code.count == Self.size && (unsafe CRYPTO_memcmp(code, expected, Self.size)) == 0
    }
}
