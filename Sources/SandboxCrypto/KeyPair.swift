internal import COpenSSL

/// A key as OpenSSL holds it.
@safe
final class KeyPair: @unchecked Sendable {
    // Sendable: the EVP_PKEY is not changed after `init`, and OpenSSL 3 protects its caches and reference count by
    // locks of its own.
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// Reads a private key.
    ///
    /// - Parameter pem: the key as PKCS #8, SEC 1 or PKCS #1, not encrypted.
    /// - Returns: the key; nil if the text has none.
    static func read(pem: String) -> KeyPair? {
        defer { ERR_clear_error() }
        let pem = Array(pem.utf8)
        guard let bio = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { return nil }
        defer { unsafe BIO_free(bio) }
        // Without a callback, OpenSSL would ask for a password on the terminal.
        guard let key = unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil) else { return nil }
        return unsafe KeyPair(owning: key)
    }

    /// The private key as PKCS #8 in PEM, without a trailing newline.
    func pem() throws(OpenSSLFailure) -> String {
        try unsafe MemoryText.write { bio in unsafe PEM_write_bio_PKCS8PrivateKey(bio, pointer, nil, nil, 0, nil, nil) }
    }

    /// Verifies a signature over the SHA-256 of a message.
    ///
    /// - Parameters:
    ///   - signature: the signature: ECDSA in DER, RSA by PKCS #1 v1.5.
    ///   - message: the signed message.
    /// - Returns: whether the signature is valid.
    func hasMade(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, pointer) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    /// Generates a key.
    ///
    /// - Parameters:
    ///   - kind: OpenSSL's name of the key type.
    ///   - set: sets the parameters; returns 1 on success.
    /// - Returns: the key.
    /// - Throws: ``OpenSSLFailure``.
    static func make(_ kind: String, _ set: (OpaquePointer) -> Int32) throws(OpenSSLFailure) -> KeyPair {
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, kind, nil) else {
            throw OpenSSLFailure("EVP_PKEY_CTX_new_from_name")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1, unsafe set(context) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else { throw OpenSSLFailure("EVP_PKEY_generate") }
        return unsafe KeyPair(owning: key)
    }
}

/// Text that OpenSSL writes to memory.
enum MemoryText {
    /// Collects the text.
    ///
    /// - Parameter write: writes the text; returns 1 on success.
    /// - Returns: the text without trailing newlines.
    /// - Throws: ``OpenSSLFailure``.
    static func write(_ write: (OpaquePointer) -> Int32) throws(OpenSSLFailure) -> String {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw OpenSSLFailure("BIO_new") }
        defer {
            unsafe copenssl_wipe(bio)
            unsafe BIO_free(bio)
        }
        guard unsafe write(bio) == 1 else { throw OpenSSLFailure("PEM_write_bio") }
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe copenssl_memory(bio, &start)
        var bytes = unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
        while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
