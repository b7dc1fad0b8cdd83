internal import COpenSSL

/// AES-128 in Galois/Counter Mode (NIST SP 800-38D) without additional data.
package enum AES128GCM {
    /// The sizes of a key, a nonce and a tag, in bytes.
    private static let keySize = 16
    private static let nonceSize = 12
    private static let tagSize = 16

    /// Decrypts a message.
    ///
    /// - Parameters:
    ///   - sealed: the ciphertext, followed by the tag.
    ///   - key: the key, 16 bytes.
    ///   - nonce: the nonce, 12 bytes.
    /// - Returns: the plaintext; nil if the tag is wrong.
    package static func open(_ sealed: some Sequence<UInt8>, key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        var tag = Array(sealed)
        guard tag.count >= tagSize, tag.count <= Int(Int32.max), key.count == keySize, nonce.count == nonceSize
        else { return nil }
        let ciphertext = Array(tag.dropLast(tagSize))
        tag.removeFirst(ciphertext.count)
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        defer {
            unsafe EVP_CIPHER_CTX_free(context)
            ERR_clear_error()
        }
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        var end = [UInt8](repeating: 0, count: tagSize)
        var count: Int32 = 0
        guard unsafe EVP_DecryptInit_ex2(context, EVP_aes_128_gcm(), key, nonce, nil) == 1,
            unsafe EVP_DecryptUpdate(context, &plaintext, &count, ciphertext, Int32(ciphertext.count)) == 1,
            Int(count) == ciphertext.count,
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagSize), &tag) == 1,
            unsafe EVP_DecryptFinal_ex(context, &end, &count) == 1, count == 0
        else { return nil }
        return plaintext
    }
}
