internal import COpenSSL

/// A public key on P-256.
package struct P256PublicKey: Sendable, Equatable {
    /// The key as an uncompressed point, 65 bytes (SEC 1 section 2.3.3).
    package let point: [UInt8]

    /// Creates a key from a point.
    ///
    /// - Parameter point: the uncompressed point; the result is nil for other forms, and for points that are not on the
    ///   curve.
    package init?(point: some Sequence<UInt8>) {
        self.point = Array(point)
        guard CurveP256.shared.has(self.point) else { return nil }
    }

    /// Verifies an ES256 signature (RFC 7518 section 3.4).
    ///
    /// - Parameters:
    ///   - message: the signed message.
    ///   - signature: r and s, 32 bytes each; DER is rejected.
    /// - Returns: whether the signature is valid.
    package func hasSigned(_ message: some Sequence<UInt8>, _ signature: some Sequence<UInt8>) -> Bool {
        let raw = Array(signature)
        guard raw.count == 2 * CurveP256.scalarSize, let key = try? CurveP256.shared.key(point) else { return false }
        return key.hasMade(Self.der(raw), of: Array(message))
    }

    /// Encodes r and s as a DER sequence of two integers, without leading zeros except one that keeps a number
    /// positive.
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        let integers = [raw.prefix(CurveP256.scalarSize), raw.suffix(CurveP256.scalarSize)].flatMap { half in
            var digits = Array(half.drop { $0 == 0 })
            if digits.first ?? 0x80 >= 0x80 { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        return [0x30, UInt8(integers.count)] + integers
    }
}

/// A private key on P-256.
package struct P256PrivateKey: Sendable {
    let pair: KeyPair

    /// The public key.
    package let publicKey: P256PublicKey

    /// Generates a key.
    ///
    /// - Throws: ``OpenSSLFailure``.
    package init() throws(OpenSSLFailure) {
        let pair = try unsafe KeyPair.make("EC") { unsafe EVP_PKEY_CTX_set_group_name($0, "prime256v1") }
        guard let publicKey = Self.publicKey(of: pair) else { throw OpenSSLFailure("EVP_PKEY_get1_encoded_public_key") }
        (self.pair, self.publicKey) = (pair, publicKey)
    }

    /// Reads a key.
    ///
    /// - Parameter pem: the key as PKCS #8 or SEC 1; the result is nil for other forms and other curves.
    package init?(pem: String) {
        guard let pair = KeyPair.read(pem: pem), Self.isOnCurve(pair), let publicKey = Self.publicKey(of: pair) else {
            return nil
        }
        (self.pair, self.publicKey) = (pair, publicKey)
    }

    /// Creates a key from a number.
    ///
    /// - Parameter scalar: the number, big-endian, 32 bytes; the result is nil for 0 and for numbers not below the
    ///   curve's order.
    package init?(scalar: [UInt8]) {
        guard let publicKey = CurveP256.shared.point(of: scalar).flatMap({ P256PublicKey(point: $0) }),
            let pair = try? CurveP256.shared.key(publicKey.point, scalar: scalar)
        else { return nil }
        (self.pair, self.publicKey) = (pair, publicKey)
    }

    /// Encodes the key as PKCS #8 without a trailing newline.
    ///
    /// - Returns: the key as PEM.
    /// - Throws: ``OpenSSLFailure``.
    package func pem() throws(OpenSSLFailure) -> String { try pair.pem() }

    /// Derives the secret shared with another key (ECDH, NIST SP 800-56A section 5.7.1.2).
    ///
    /// - Parameter peer: the other key.
    /// - Returns: the secret, 32 bytes.
    /// - Throws: ``OpenSSLFailure``.
    package func sharedSecret(with peer: P256PublicKey) throws(OpenSSLFailure) -> [UInt8] {
        let peer = try CurveP256.shared.key(peer.point)
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, pair.pointer, nil) else {
            throw OpenSSLFailure("EVP_PKEY_CTX_new_from_pkey")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: CurveP256.scalarSize)
        var count = secret.count
        guard unsafe EVP_PKEY_derive_init(context) == 1, unsafe EVP_PKEY_derive_set_peer(context, peer.pointer) == 1,
            unsafe EVP_PKEY_derive(context, &secret, &count) == 1, count == secret.count
        else { throw OpenSSLFailure("EVP_PKEY_derive") }
        return secret
    }

    private static func isOnCurve(_ pair: KeyPair) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        guard unsafe EVP_PKEY_is_a(pair.pointer, "EC") == 1,
            unsafe EVP_PKEY_get_group_name(pair.pointer, &name, name.count, nil) == 1
        else {
            ERR_clear_error()
            return false
        }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ["prime256v1", "P-256"].contains(text)
    }

    private static func publicKey(of pair: KeyPair) -> P256PublicKey? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = unsafe EVP_PKEY_get1_encoded_public_key(pair.pointer, &bytes)
        guard let bytes = unsafe bytes else { return nil }
        defer { unsafe CRYPTO_free(bytes, #file, #line) }
        return unsafe P256PublicKey(point: UnsafeBufferPointer(start: bytes, count: count))
    }
}
