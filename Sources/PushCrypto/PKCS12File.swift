internal import COpenSSL

/// Opens PKCS #12 files (RFC 7292), including those from keychains, whose ciphers are in OpenSSL 3's legacy provider.
///
/// Uses a library context of its own, so that those ciphers are not available to other code.
@safe
final class PKCS12File {
    private let library: OpaquePointer
    private let providers: [OpaquePointer]

    private init(library: OpaquePointer) {
        unsafe self.library = library
        // Without the legacy provider, files with newer ciphers can still be read.
        let names = ["default", "legacy"]
        unsafe providers = names.compactMap { (name: String) in unsafe OSSL_PROVIDER_load(library, name) }
        ERR_clear_error()
    }

    deinit {
        for index in unsafe providers.indices { unsafe OSSL_PROVIDER_unload(providers[index]) }
        unsafe OSSL_LIB_CTX_free(library)
    }

    /// Converts a file to PEM.
    ///
    /// - Parameters:
    ///   - bytes: the file.
    ///   - password: the password with its final zero; nil if none was configured.
    ///   - source: the file's name, for errors.
    /// - Returns: the private key, not encrypted, and all certificates.
    /// - Throws: ``KeyError``.
    static func pem(_ bytes: borrowing [UInt8], password: [CChar]?, source: String) throws(KeyError) -> [UInt8] {
        ERR_clear_error()
        guard let library = unsafe OSSL_LIB_CTX_new() else { throw malformed(source) }
        let file = unsafe PKCS12File(library: library)
        guard let archive = unsafe file.decode(bytes) else {
            ERR_clear_error()
            throw KeyError(reason: .notACertificateFile, source: source)
        }
        defer { unsafe PKCS12_free(archive) }
        let password = try unsafe opened(archive, password, source)
        return try unsafe contents(of: archive, password: password, source: source)
    }

    private func decode(_ bytes: borrowing [UInt8]) -> OpaquePointer? {
        unsafe bytes.withUnsafeBytes { buffer in
            guard let bio = unsafe BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
            defer { unsafe BIO_free(bio) }
            // The decoder takes the library context from the empty archive.
            var archive = unsafe PKCS12_init_ex(NID_pkcs7_data, library, nil)
            guard unsafe d2i_PKCS12_bio(bio, &archive) != nil else {
                unsafe PKCS12_free(archive)
                return nil
            }
            return unsafe archive
        }
    }

    /// Finds the password form that matches the file's authentication code.
    ///
    /// Without a password, both the empty and the absent password are tried.
    private static func opened(
        _ archive: OpaquePointer,
        _ password: [CChar]?,
        _ source: String
    ) throws(KeyError) -> [CChar]? {
        guard unsafe PKCS12_mac_present(archive) == 1 else { return password }
        for candidate in password.map({ [$0] }) ?? [nil, [0]] {
            if unsafe PKCS12_verify_mac(archive, candidate, candidate == nil ? 0 : -1) == 1 { return candidate }
        }
        ERR_clear_error()
        throw KeyError(reason: password == nil ? .passwordNeeded : .wrongPassword, source: source)
    }

    private static func contents(
        of archive: OpaquePointer,
        password: [CChar]?,
        source: String
    ) throws(KeyError) -> [UInt8] {
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var others: OpaquePointer?
        guard unsafe PKCS12_parse(archive, password, &key, &leaf, &others) == 1 else {
            throw KeyError(reason: obstacle(drainOpenSSLErrors(), hasPassword: password != nil), source: source)
        }
        ERR_clear_error()
        defer {
            unsafe EVP_PKEY_free(key)
            unsafe X509_free(leaf)
            unsafe copenssl_certificates_free(others)
        }
        guard let key = unsafe key else {
            throw KeyError(reason: .noPrivateKey(found: "certificates"), source: source)
        }
        do throws(CryptoError) {
            return try unsafe PEMWriter.collect { bio in
                var written = unsafe PEM_write_bio_PKCS8PrivateKey(bio, key, nil, nil, 0, nil, nil)
                if let leaf = unsafe leaf { written &= unsafe PEM_write_bio_X509(bio, leaf) }
                let count = unsafe copenssl_certificate_count(others)
                for index in 0..<count {
                    written &= unsafe PEM_write_bio_X509(bio, copenssl_certificate(others, index))
                }
                return written
            }
        } catch {
            throw KeyError(reason: .malformed(error.reasons), source: source)
        }
    }

    /// Interprets OpenSSL's reasons.
    ///
    /// Encrypted files without an authentication code are not supported; with them a missing password appears as
    /// malformed data.
    private static func obstacle(_ reasons: [String], hasPassword: Bool) -> KeyError.Reason {
        let speaks = { (words: [String]) in reasons.contains { reason in words.contains { reason.contains($0) } } }
        if speaks(["unsupported", "unknown", "mac absent"]) { return .unsupportedEncryption(reasons) }
        if speaks(["bad decrypt", "cipherfinal"]) { return hasPassword ? .wrongPassword : .passwordNeeded }
        return .malformed(reasons)
    }

    private static func malformed(_ source: String) -> KeyError {
        KeyError(reason: .malformed(drainOpenSSLErrors()), source: source)
    }
}
