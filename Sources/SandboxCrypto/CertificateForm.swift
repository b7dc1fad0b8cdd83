internal import COpenSSL

/// The content of a new certificate.
package struct CertificateForm {
    /// The subject: attribute types as OpenSSL abbreviates them, and their values.
    private let subject: [(type: String, value: String)]
    private let days: Int
    /// The names and values of extensions, as in OpenSSL's configuration files (x509v3_config).
    private let extensions: [(name: String, value: String)]

    /// Creates the content of a certificate.
    ///
    /// - Parameters:
    ///   - subject: attribute types as OpenSSL abbreviates them, and their values.
    ///   - days: the validity from now on; it starts an hour ago.
    ///   - extensions: names or object identifiers, and values as in OpenSSL's configuration files.
    package init(subject: [(type: String, value: String)], days: Int, extensions: [(name: String, value: String)]) {
        (self.subject, self.days, self.extensions) = (subject, days, extensions)
    }

    /// Creates and signs the certificate.
    ///
    /// - Parameters:
    ///   - key: the subject's key.
    ///   - issuer: the issuer's certificate and key; nil for a self-signed certificate.
    /// - Returns: the certificate.
    /// - Throws: ``OpenSSLFailure``.
    package func certificate(
        for key: P256PrivateKey,
        signedBy issuer: (certificate: Certificate, key: P256PrivateKey)? = nil
    ) throws(OpenSSLFailure) -> Certificate {
        guard let pointer = unsafe X509_new() else { throw OpenSSLFailure("X509_new") }
        let certificate = unsafe Certificate(owning: pointer)
        let issuing = issuer?.certificate ?? certificate
        try setSerialNumber(certificate)
        try setSubject(certificate)
        guard unsafe X509_set_version(pointer, 2) == 1,
            unsafe X509_gmtime_adj(X509_getm_notBefore(pointer), -3600) != nil,
            unsafe X509_gmtime_adj(X509_getm_notAfter(pointer), days * 86_400) != nil,
            unsafe X509_set_issuer_name(pointer, X509_get_subject_name(issuing.pointer)) == 1,
            unsafe X509_set_pubkey(pointer, key.pair.pointer) == 1
        else { throw OpenSSLFailure("X509_set_version") }
        try addExtensions(certificate, issuing)
        guard unsafe X509_sign(pointer, (issuer?.key ?? key).pair.pointer, EVP_sha256()) > 0 else {
            throw OpenSSLFailure("X509_sign")
        }
        return certificate
    }

    /// Sets a random serial number of 20 bytes, the longest that is allowed.
    private func setSerialNumber(_ certificate: Certificate) throws(OpenSSLFailure) {
        guard let number = unsafe BN_new() else { throw OpenSSLFailure("BN_new") }
        defer { unsafe BN_free(number) }
        guard unsafe BN_rand(number, 159, 0, 0) == 1,
            unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.pointer)) != nil
        else { throw OpenSSLFailure("BN_rand") }
    }

    private func setSubject(_ certificate: Certificate) throws(OpenSSLFailure) {
        let name = unsafe X509_get_subject_name(certificate.pointer)
        for (type, value) in subject {
            let text = Array(value.utf8)
            // Encoded as UTF-8 without OpenSSL's length limits: bundle ids may be longer than the limit of common
            // names.
            guard
                unsafe X509_NAME_add_entry_by_txt(
                    name,
                    type,
                    V_ASN1_UTF8STRING,
                    text,
                    Int32(clamping: text.count),
                    -1,
                    0
                ) == 1
            else { throw OpenSSLFailure("X509_NAME_add_entry_by_txt") }
        }
    }

    private func addExtensions(_ certificate: Certificate, _ issuer: Certificate) throws(OpenSSLFailure) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer.pointer, certificate.pointer, nil, nil, 0)
        for (name, value) in extensions {
            guard let made = unsafe X509V3_EXT_conf(nil, &context, name, value) else {
                throw OpenSSLFailure("X509V3_EXT_conf")
            }
            defer { unsafe X509_EXTENSION_free(made) }
            guard unsafe X509_add_ext(certificate.pointer, made, -1) == 1 else { throw OpenSSLFailure("X509_add_ext") }
        }
    }
}
