internal import COpenSSL

/// Encodes PEM with OpenSSL.
enum PEMWriter {
    /// Encodes a private key as PKCS #8, not encrypted.
    static func privateKey(_ key: OpaquePointer) throws(CryptoError) -> [UInt8] {
        try unsafe collect { bio in unsafe PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil) }
    }

    /// Encodes certificates, one after the other.
    static func certificates(_ certificates: [X509Certificate]) throws(CryptoError) -> [UInt8] {
        try unsafe collect { bio in
            certificates.allSatisfy { unsafe $0.write(to: bio) } ? 1 : 0
        }
    }

    /// Collects the bytes that a closure writes.
    ///
    /// - Parameter write: writes to the given BIO; returns 1 for success.
    /// - Returns: the bytes; OpenSSL's own copy is wiped.
    /// - Throws: ``CryptoError``.
    static func collect(_ write: (OpaquePointer) -> Int32) throws(CryptoError) -> [UInt8] {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { throw CryptoError("BIO_new") }
        defer {
            unsafe copenssl_wipe(bio)
            unsafe BIO_free(bio)
        }
        guard unsafe write(bio) == 1 else { throw CryptoError("PEM_write_bio") }
        var start: UnsafeMutablePointer<CChar>?
        let count = unsafe copenssl_memory(bio, &start)
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }
}
