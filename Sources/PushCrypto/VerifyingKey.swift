internal import COpenSSL

/// A public key that verifies signatures.
///
/// Safe to share between threads.
@safe
package final class VerifyingKey: @unchecked Sendable {
    // Sendable: the EVP_PKEY is never changed after `init`, and OpenSSL 3 locks its caches and reference count itself.
    private let key: OpaquePointer
    /// Whether the key is for ES256; otherwise it is for EdDSA.
    private let isES256: Bool

    /// The SubjectPublicKeyInfo prefix of an uncompressed point (RFC 5480).
    private static let pointHead: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    private init(owning key: OpaquePointer, isES256: Bool) {
        unsafe self.key = key
        self.isES256 = isES256
    }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Creates a key for ES256 (RFC 7518 section 3.4).
    ///
    /// - Parameter point: uncompressed, 65 bytes.
    /// - Returns: the key; nil if the point is not on P-256.
    package static func p256(_ point: [UInt8]) -> VerifyingKey? {
        defer { ERR_clear_error() }
        guard let curve = try? CurveP256.shared(), curve.holds(point) else { return nil }
        let der = pointHead + point
        let key = unsafe der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            return unsafe d2i_PUBKEY(nil, &position, buffer.count)
        }
        guard let key = unsafe key else { return nil }
        return unsafe VerifyingKey(owning: key, isES256: true)
    }

    /// Creates a key for EdDSA with Ed25519 (RFC 8037 section 3.1).
    ///
    /// - Parameter bytes: 32 bytes.
    /// - Returns: the key; nil if the length is wrong. Bytes that are not a point of the curve verify no signature.
    package static func ed25519(_ bytes: [UInt8]) -> VerifyingKey? {
        defer { ERR_clear_error() }
        guard let key = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count) else {
            return nil
        }
        return unsafe VerifyingKey(owning: key, isES256: false)
    }

    /// Returns whether a signature of a message is valid for this key.
    ///
    /// - Parameters:
    ///   - message: the signed message.
    ///   - signature: 64 bytes; for ES256 the raw `r || s`, not DER.
    /// - Returns: whether the signature is valid.
    package func hasSigned(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard signature.count == 64, let native = isES256 ? Self.der(signature) : signature,
            let context = unsafe EVP_MD_CTX_new()
        else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestVerifyInit(context, nil, isES256 ? EVP_sha256() : nil, nil, key) == 1 else {
            return false
        }
        return unsafe EVP_DigestVerify(context, native, native.count, message, message.count) == 1
    }

    private static func der(_ raw: [UInt8]) -> [UInt8]? {
        guard let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let r = unsafe raw.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress, 32, nil) }
        let s = unsafe raw.withUnsafeBufferPointer { unsafe BN_bin2bn($0.baseAddress.map { unsafe $0 + 32 }, 32, nil) }
        // The signature takes ownership of both numbers, or of neither.
        guard let r = unsafe r, let s = unsafe s, unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            return nil
        }
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_ECDSA_SIG(signature, &bytes)
        guard count > 0, let bytes = unsafe bytes else { return nil }
        defer { unsafe CRYPTO_free(bytes, #file, #line) }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
