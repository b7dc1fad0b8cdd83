internal import COpenSSL

/// AES-128 in Galois/Counter Mode (NIST SP 800-38D) without additional data.
///
/// An instance is reused, since fetching the cipher costs as much as encrypting a message. Used by one thread at a
/// time.
@safe
final class AES128GCM {
    /// The sizes of a key, a nonce and a tag in bytes.
    static let keySize = 16
    static let nonceSize = 12
    static let tagSize = 16

    private let context: OpaquePointer
    private let cipher: OpaquePointer

    private init(owning context: OpaquePointer, cipher: OpaquePointer) {
        unsafe self.context = context
        unsafe self.cipher = cipher
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
        unsafe EVP_CIPHER_free(cipher)
    }

    /// Fetches the cipher.
    static func open() throws(CryptoError) -> AES128GCM {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, "AES-128-GCM", nil) else {
            throw CryptoError("EVP_CIPHER_fetch")
        }
        guard let context = unsafe EVP_CIPHER_CTX_new() else {
            unsafe EVP_CIPHER_free(cipher)
            throw CryptoError("EVP_CIPHER_CTX_new")
        }
        return unsafe AES128GCM(owning: context, cipher: cipher)
    }

    /// Encrypts the end of a buffer in place and appends the tag.
    ///
    /// - Parameters:
    ///   - buffer: the buffer; bytes before `start` are not changed.
    ///   - start: the index of the first byte of the plaintext.
    ///   - key: 16 bytes.
    ///   - nonce: 12 bytes, never used twice with one key.
    /// - Throws: ``CryptoError``.
    func seal(
        _ buffer: inout [UInt8],
        from start: Int,
        key: ArraySlice<UInt8>,
        nonce: ArraySlice<UInt8>
    ) throws(CryptoError) {
        precondition(key.count == Self.keySize && nonce.count == Self.nonceSize, "AES-128-GCM: key or nonce size")
        let end = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.tagSize))
        let isStarted = unsafe key.withUnsafeBufferPointer { key in
            unsafe nonce.withUnsafeBufferPointer { nonce in
                unsafe EVP_EncryptInit_ex2(context, cipher, key.baseAddress, nonce.baseAddress, nil) == 1
            }
        }
        guard isStarted else { throw CryptoError("EVP_EncryptInit_ex2") }
        let isSealed = unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            var count: Int32 = 0
            let text = unsafe base + start
            return unsafe EVP_EncryptUpdate(context, text, &count, text, Int32(end - start)) == 1
                && count == end - start
                && EVP_EncryptFinal_ex(context, base + end, &count) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagSize), base + end) == 1
        }
        guard isSealed else { throw CryptoError("EVP_EncryptUpdate") }
    }
}
