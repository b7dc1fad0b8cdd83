internal import COpenSSL

/// An RSA key of 2048 bits or more.
package struct RSAKey: Sendable {
    private static let leastBits = 2048

    private let pair: KeyPair

    /// Generates a key of 2048 bits, including its private part.
    ///
    /// - Throws: ``OpenSSLFailure``.
    package init() throws(OpenSSLFailure) {
        pair = try unsafe KeyPair.make("RSA") { unsafe EVP_PKEY_CTX_set_rsa_keygen_bits($0, Int32(Self.leastBits)) }
    }

    /// Reads a private key.
    ///
    /// - Parameter pem: the key as PKCS #8 or PKCS #1; the result is nil for other forms and for shorter keys.
    package init?(pem: String) {
        guard let pair = KeyPair.read(pem: pem), unsafe EVP_PKEY_is_a(pair.pointer, "RSA") == 1,
            unsafe EVP_PKEY_get_bits(pair.pointer) >= Self.leastBits
        else { return nil }
        self.pair = pair
    }

    /// Encodes the private key as PKCS #8 without a trailing newline.
    ///
    /// - Returns: the key as PEM.
    /// - Throws: ``OpenSSLFailure``.
    package func pem() throws(OpenSSLFailure) -> String { try pair.pem() }

    /// Encodes the public key (SubjectPublicKeyInfo, RFC 5280 section 4.1.2.7).
    ///
    /// - Returns: the key in DER.
    /// - Throws: ``OpenSSLFailure``.
    package func publicKeyDER() throws(OpenSSLFailure) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PUBKEY(pair.pointer, &bytes)
        guard count > 0, let bytes = unsafe bytes else { throw OpenSSLFailure("i2d_PUBKEY") }
        defer { unsafe CRYPTO_free(bytes, #file, #line) }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Verifies an RS256 signature (RFC 7518 section 3.3).
    ///
    /// - Parameters:
    ///   - message: the signed message.
    ///   - signature: the signature, as long as the key's modulus.
    /// - Returns: whether the signature is valid.
    package func hasSigned(_ message: some Sequence<UInt8>, _ signature: some Sequence<UInt8>) -> Bool {
        pair.hasMade(Array(signature), of: Array(message))
    }
}
