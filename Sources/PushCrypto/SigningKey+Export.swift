internal import COpenSSL

/// Generates and exports keys.
extension SigningKey {
    /// Generates a new ES256 key: an EC key on P-256.
    ///
    /// - Returns: the key.
    /// - Throws: ``CryptoError``.
    public static func generateES256() throws(CryptoError) -> SigningKey {
        guard let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else {
            throw CryptoError("EVP_PKEY_CTX_new_id")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            unsafe EVP_PKEY_keygen(context, &key) == 1, let key = unsafe key
        else { throw CryptoError("EVP_PKEY_keygen") }
        return unsafe SigningKey(owning: key, algorithm: .es256)
    }

    /// Returns the private key as PKCS #8 in PEM, not encrypted.
    ///
    /// A secret: write it only to a file that its owner alone can read.
    ///
    /// - Returns: the text with its final line break.
    /// - Throws: ``CryptoError``.
    public func privateKeyPEM() throws(CryptoError) -> String {
        String(decoding: try unsafe PEMWriter.privateKey(key), as: UTF8.self)
    }

    /// Returns the public key of an ES256 key: an uncompressed point, 65 bytes (SEC 1 section 2.3.3).
    ///
    /// - Returns: the point.
    /// - Throws: ``CryptoError``, for RSA keys too.
    public func publicPoint() throws(CryptoError) -> [UInt8] {
        try [4] + coordinate(OSSL_PKEY_PARAM_EC_PUB_X) + coordinate(OSSL_PKEY_PARAM_EC_PUB_Y)
    }

    /// Reads coordinates, since the encoded point may be compressed in the key's file.
    private func coordinate(_ name: String) throws(CryptoError) -> [UInt8] {
        var number: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(key, name, &number) == 1, let number = unsafe number else {
            throw CryptoError("EVP_PKEY_get_bn_param")
        }
        defer { unsafe BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: CurveP256.scalarSize)
        guard unsafe BN_bn2binpad(number, &bytes, Int32(bytes.count)) == bytes.count else {
            throw CryptoError("BN_bn2binpad")
        }
        return bytes
    }
}
