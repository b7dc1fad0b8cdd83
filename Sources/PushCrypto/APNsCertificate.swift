internal import COpenSSL

/// A client certificate for APNs with its private key, ready for a TLS handshake.
///
/// Safe to share between threads.
public struct APNsCertificate: Sendable {
    /// A topic that a certificate may push to.
    public struct Topic: Equatable, Sendable {
        /// The topic: a bundle id, with a suffix for VoIP, complications and the like.
        public let name: String

        /// The uses that Apple lists for the topic, such as `app` or `voip`; empty if the certificate lists none.
        public let kinds: [String]
    }

    /// The certificate, followed by its intermediate certificates, in PEM.
    public let chainPEM: [UInt8]

    /// The private key, as PKCS #8 in PEM.
    ///
    /// A secret: never logged.
    public let privateKeyPEM: [UInt8]

    /// The subject's common name, for display.
    public let commonName: String

    /// The start of the validity period, in seconds since 1970.
    public let notBefore: Int64

    /// The end of the validity period, in seconds since 1970.
    public let notAfter: Int64

    /// The topics that it may push to: those in Apple's extension 1.2.840.113635.100.6.3.6, or else the subject's user
    /// id.
    public let topics: [Topic]

    /// The file it came from, for errors.
    public let source: String

    /// Reads a certificate with its private key from a file that only its owner may read.
    ///
    /// - Parameters:
    ///   - path: a PKCS #12 file, or PEM with the private key and at least its certificate.
    ///   - passwordFile: a file with the password, which only its owner may read; one line break at the end is ignored.
    ///   - guardedFolders: folders below which file modes are not checked.
    /// - Returns: the certificate; its validity is checked by ``check(topic:at:)``.
    /// - Throws: ``KeyError``, which says how to fix it.
    public static func load(
        file path: String,
        passwordFile: String? = nil,
        guardedFolders: [String] = []
    ) throws(KeyError) -> APNsCertificate {
        var password: [CChar]?
        if let passwordFile {
            let file = try KeyFile.read(passwordFile, guardedFolders: guardedFolders)
            password = file.withBytes { passwordText($0) }
        }
        let file = try KeyFile.read(path, guardedFolders: guardedFolders)
        return try file.withBytes { bytes throws(KeyError) in
            let blocks = PEMBlocks(bytes)
            guard blocks.isEmpty else { return try parse(bytes, blocks, password: password, source: path) }
            let pem = try PKCS12File.pem(bytes, password: password, source: path)
            return try parse(pem, PEMBlocks(pem), password: nil, source: path)
        }
    }

    /// Checks that the certificate can be used.
    ///
    /// - Parameters:
    ///   - topic: the topic to push to; nil for the certificate's only one.
    ///   - now: the time, in seconds since 1970.
    /// - Throws: ``KeyError`` if it is expired, not yet valid, or for other topics.
    public func check(topic: String?, at now: Int64) throws(KeyError) {
        if now < notBefore { throw KeyError(reason: .notYetValid(from: notBefore), source: source) }
        if now > notAfter { throw KeyError(reason: .expired(at: notAfter), source: source) }
        guard !topics.isEmpty else { throw KeyError(reason: .noTopic, source: source) }
        if let topic, !topics.contains(where: { $0.name == topic }) {
            throw KeyError(reason: .topicNotCovered(topic, covered: topics.map(\.name)), source: source)
        }
    }

    private init(leaf: X509Certificate, chainPEM: [UInt8], privateKeyPEM: [UInt8], source: String) throws(KeyError) {
        guard let notBefore = leaf.notBefore, let notAfter = leaf.notAfter else {
            throw KeyError(reason: .malformedCertificate(["no valid dates"]), source: source)
        }
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.chainPEM = chainPEM
        self.privateKeyPEM = privateKeyPEM
        self.source = source
        commonName = leaf.commonName ?? ""
        let listed = leaf.extensionContent(APNsTopics.identifier).map { APNsTopics.decode($0) } ?? []
        topics = listed.isEmpty ? leaf.userID.map { [Topic(name: $0, kinds: [])] } ?? [] : listed
    }

    private static func parse(
        _ pem: borrowing [UInt8],
        _ blocks: PEMBlocks,
        password: [CChar]?,
        source: String
    ) throws(KeyError) -> APNsCertificate {
        guard blocks.hasPrivateKey else { throw KeyError(reason: .noPrivateKey(found: blocks.found), source: source) }
        if blocks.isEncrypted && password == nil { throw KeyError(reason: .passwordNeeded, source: source) }
        guard let key = unsafe PEMReader.privateKey(pem, password: password) else {
            let reasons = drainOpenSSLErrors()
            throw KeyError(reason: blocks.isEncrypted ? .wrongPassword : .malformed(reasons), source: source)
        }
        defer { unsafe EVP_PKEY_free(key) }
        guard let certificates = PEMReader.certificates(pem) else {
            throw KeyError(reason: .malformedCertificate(drainOpenSSLErrors()), source: source)
        }
        guard !certificates.isEmpty else { throw KeyError(reason: .noCertificate, source: source) }
        guard let leaf = certificates.first(where: { unsafe $0.belongs(to: key) }) else {
            throw KeyError(reason: .keyMismatch, source: source)
        }
        let chainPEM: [UInt8]
        let privateKeyPEM: [UInt8]
        do throws(CryptoError) {
            chainPEM = try PEMWriter.certificates([leaf] + certificates.filter { $0 !== leaf })
            privateKeyPEM = try unsafe PEMWriter.privateKey(key)
        } catch {
            throw KeyError(reason: .malformedCertificate(error.reasons), source: source)
        }
        return try APNsCertificate(leaf: leaf, chainPEM: chainPEM, privateKeyPEM: privateKeyPEM, source: source)
    }

    private static func passwordText(_ bytes: borrowing [UInt8]) -> [CChar] {
        var text = copy bytes
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        if text.last == UInt8(ascii: "\r") { text.removeLast() }
        return text.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
    }
}
