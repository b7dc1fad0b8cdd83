internal import COpenSSL

/// A certificate (RFC 5280).
@safe
package final class Certificate: @unchecked Sendable {
    // Sendable: the X509 is only read after `init`, and OpenSSL 3 protects its caches by locks of its own.
    let pointer: OpaquePointer

    /// The signature algorithms of the sandbox's CA; others are rejected.
    private static let algorithms = [NID_ecdsa_with_SHA256, NID_ecdsa_with_SHA384, NID_ecdsa_with_SHA512]

    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe X509_free(pointer) }

    /// Decodes a certificate.
    ///
    /// - Parameter der: the certificate in DER.
    /// - Returns: the certificate; nil if it is invalid, is followed by other bytes, or has an extension twice.
    package static func decode(der: [UInt8]) -> Certificate? {
        defer { ERR_clear_error() }
        var used = 0
        let decoded = unsafe der.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            let decoded = unsafe d2i_X509(nil, &position, buffer.count)
            used = unsafe position.map { unsafe $0 - (buffer.baseAddress ?? $0) } ?? 0
            return unsafe decoded
        }
        guard let decoded = unsafe decoded else { return nil }
        let certificate = unsafe Certificate(owning: decoded)
        return used == der.count && !certificate.repeatsAnExtension ? certificate : nil
    }

    /// Reads the first certificate of a text.
    ///
    /// - Parameter pem: the text, which may hold more than one.
    /// - Returns: the certificate; nil if there is none.
    package static func read(pem: String) -> Certificate? {
        defer { ERR_clear_error() }
        let pem = Array(pem.utf8)
        guard let bio = unsafe BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { return nil }
        defer { unsafe BIO_free(bio) }
        guard let certificate = unsafe PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil) else { return nil }
        return unsafe Certificate(owning: certificate)
    }

    /// Encodes the certificate without a trailing newline.
    ///
    /// - Returns: the certificate as PEM.
    /// - Throws: ``OpenSSLFailure``.
    package func pem() throws(OpenSSLFailure) -> String {
        try unsafe MemoryText.write { bio in unsafe PEM_write_bio_X509(bio, pointer) }
    }

    /// Returns whether the certificate was signed by another one's key.
    ///
    /// - Parameter issuer: the other certificate.
    /// - Returns: whether the signature is valid; the issuer's name is not compared.
    package func isSigned(by issuer: Certificate) -> Bool {
        defer { ERR_clear_error() }
        guard Self.algorithms.contains(unsafe X509_get_signature_nid(pointer)),
            let key = unsafe X509_get0_pubkey(issuer.pointer)
        else { return false }
        return unsafe X509_verify(pointer, key) == 1
    }

    /// Returns whether the certificate is valid at a time.
    ///
    /// - Parameter seconds: the time, in seconds since 1970.
    /// - Returns: whether the time is at or after the start, and before the end.
    package func isValid(at seconds: Int64) -> Bool {
        var time = time_t(seconds)
        // −1 means earlier or the same, 1 later, 0 an invalid time.
        return unsafe X509_cmp_time(X509_get0_notBefore(pointer), &time) == -1
            && X509_cmp_time(X509_get0_notAfter(pointer), &time) == 1
    }

    /// The first user id of the subject (RFC 4519 section 2.39), where Apple puts the bundle id.
    package var userID: String? {
        guard let name = unsafe X509_get_subject_name(pointer) else { return nil }
        let index = unsafe X509_NAME_get_index_by_NID(name, NID_userId, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index),
            let value = unsafe X509_NAME_ENTRY_get_data(entry)
        else { return nil }
        var text: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&text, value)
        guard count >= 0, let text = unsafe text else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe CRYPTO_free(text, #file, #line) }
        return unsafe String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)
    }

    /// Returns the content of an extension.
    ///
    /// - Parameter identifier: the extension's object identifier in dotted notation.
    /// - Returns: the content in DER; nil if the extension is missing.
    package func content(ofExtension identifier: String) -> [UInt8]? {
        guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return nil }
        defer { unsafe ASN1_OBJECT_free(object) }
        let index = unsafe X509_get_ext_by_OBJ(pointer, object, -1)
        guard index >= 0, let content = unsafe X509_EXTENSION_get_data(X509_get_ext(pointer, index)) else { return nil }
        let count = unsafe Int(ASN1_STRING_length(content))
        return unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(content), count: count))
    }

    private var repeatsAnExtension: Bool {
        (0..<max(0, unsafe X509_get_ext_count(pointer))).contains { index in
            let object = unsafe X509_EXTENSION_get_object(X509_get_ext(pointer, index))
            return unsafe X509_get_ext_by_OBJ(pointer, object, index) >= 0
        }
    }
}
