internal import COpenSSL

/// The certificate of a TLS server, checked against its private key.
public struct ServerCertificate: Sendable {
    /// The end of the validity period, in seconds since 1970.
    public let notAfter: Int64

    /// Decodes and checks a certificate.
    ///
    /// - Parameters:
    ///   - chain: PEM; the server's own certificate comes first.
    ///   - key: PEM with its private key, without a password.
    ///   - source: the file, for errors.
    ///   - now: the time, in seconds since 1970.
    /// - Throws: ``KeyError`` for bytes that cannot be decoded, a key of another certificate, and a certificate that is
    ///   not valid now.
    public init(chain: [UInt8], key: [UInt8], source: String, at now: Int64) throws(KeyError) {
        if let obstacle = PEMBlocks(key).obstacle { throw KeyError(reason: obstacle, source: source) }
        guard let pointer = unsafe PEMReader.privateKey(key) else {
            throw KeyError(reason: .malformed(drainOpenSSLErrors()), source: source)
        }
        defer { unsafe EVP_PKEY_free(pointer) }
        guard let certificates = PEMReader.certificates(chain) else {
            throw KeyError(reason: .malformedCertificate(drainOpenSSLErrors()), source: source)
        }
        guard let first = certificates.first else { throw KeyError(reason: .noCertificate, source: source) }
        guard unsafe first.belongs(to: pointer) else { throw KeyError(reason: .keyMismatch, source: source) }
        guard let notBefore = first.notBefore, let notAfter = first.notAfter else {
            throw KeyError(reason: .malformedCertificate(["no valid dates"]), source: source)
        }
        if now < notBefore { throw KeyError(reason: .notYetValid(from: notBefore), source: source) }
        if now > notAfter { throw KeyError(reason: .expired(at: notAfter), source: source) }
        self.notAfter = notAfter
    }
}
