internal import COpenSSL
import Glibc

/// A decoded certificate (RFC 5280), with the fields that Fanfare reads.
@safe
final class X509Certificate {
    private let certificate: OpaquePointer

    init(owning certificate: OpaquePointer) { unsafe self.certificate = certificate }

    deinit { unsafe X509_free(certificate) }

    /// Returns whether a private key matches the certificate.
    func belongs(to key: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        return unsafe X509_check_private_key(certificate, key) == 1
    }

    /// The start of the validity period, in seconds since 1970.
    var notBefore: Int64? { unsafe Self.seconds(X509_get0_notBefore(certificate)) }

    /// The end of the validity period, in seconds since 1970.
    var notAfter: Int64? { unsafe Self.seconds(X509_get0_notAfter(certificate)) }

    /// The subject's common name.
    var commonName: String? { subject(NID_commonName) }

    /// The subject's user id, where Apple puts the bundle id.
    var userID: String? { subject(NID_userId) }

    /// Returns the content of an extension.
    ///
    /// - Parameter identifier: its object identifier in dotted form.
    /// - Returns: the DER content, or nil if the certificate has no such extension.
    func extensionContent(_ identifier: String) -> [UInt8]? {
        guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return nil }
        defer { unsafe ASN1_OBJECT_free(object) }
        let index = unsafe X509_get_ext_by_OBJ(certificate, object, -1)
        guard index >= 0, let found = unsafe X509_get_ext(certificate, index) else { return nil }
        guard let content = unsafe X509_EXTENSION_get_data(found) else { return nil }
        let count = unsafe Int(ASN1_STRING_length(content))
        return unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(content), count: count))
    }

    /// Writes the certificate as PEM.
    ///
    /// - Returns: whether writing succeeded.
    func write(to bio: OpaquePointer) -> Bool {
        unsafe PEM_write_bio_X509(bio, certificate) == 1
    }

    private func subject(_ identifier: Int32) -> String? {
        guard let name = unsafe X509_get_subject_name(certificate) else { return nil }
        let index = unsafe X509_NAME_get_index_by_NID(name, identifier, -1)
        guard index >= 0, let entry = unsafe X509_NAME_get_entry(name, index) else { return nil }
        guard let value = unsafe X509_NAME_ENTRY_get_data(entry) else { return nil }
        var text: UnsafeMutablePointer<UInt8>?
        let count = unsafe ASN1_STRING_to_UTF8(&text, value)
        guard count >= 0, let text = unsafe text else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe CRYPTO_free(text, #file, #line) }
        return unsafe String(decoding: UnsafeBufferPointer(start: text, count: Int(count)), as: UTF8.self)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else {
            ERR_clear_error()
            return nil
        }
        return unsafe Int64(timegm(&parts))
    }
}
