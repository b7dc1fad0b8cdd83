import SandboxCrypto

/// A client certificate as APNs understands it: the credential of the kind before provider tokens.
struct APNsCertificate {
    /// Apple's extensions; reference: client libraries, Apple does not publish them.
    enum ExtensionID {
        static let sandboxMarker = "1.2.840.113635.100.6.3.1"
        static let productionMarker = "1.2.840.113635.100.6.3.2"
        static let topics = "1.2.840.113635.100.6.3.6"
    }

    private let certificate: Certificate
    private let issuer: Certificate
    /// What it may push to.
    private let topics: [(topic: String, kinds: [String])]
    /// The bundle id of its subject.
    let bundleID: String?
    private let environments: Set<Environment>

    /// Reads a certificate; nil if it is none.
    ///
    /// - Parameters:
    ///   - der: what the client presented.
    ///   - issuer: the only CA that counts.
    init?(_ der: [UInt8], issuer: Certificate) {
        guard let certificate = Certificate.decode(der: der) else { return nil }
        self.init(certificate, issuer: issuer)
    }

    /// Takes a certificate.
    ///
    /// - Parameters:
    ///   - certificate: what the client presented.
    ///   - issuer: the only CA that counts.
    init(_ certificate: Certificate, issuer: Certificate) {
        self.certificate = certificate
        self.issuer = issuer
        bundleID = certificate.userID
        let listed = certificate.content(ofExtension: ExtensionID.topics).flatMap { TopicList($0)?.topics }
        topics = listed ?? bundleID.map { [(topic: $0, kinds: ["app"])] } ?? []
        let markers: [(String, Environment)] = [
            (ExtensionID.sandboxMarker, .sandbox), (ExtensionID.productionMarker, .production),
        ]
        let marked = markers.filter { certificate.content(ofExtension: $0.0) != nil }.map(\.1)
        environments = Set(marked.isEmpty ? Environment.allCases : marked)
    }

    /// The topic of a request that names none; there is one only if the certificate has no other.
    var defaultTopic: String? {
        topics.count == 1 ? topics.first?.topic : nil
    }

    /// The bundle ids it covers, with whatever suffix.
    var bundleIDs: [String] {
        topics.filter { $0.kinds.contains("app") }.map(\.topic)
    }

    /// Judges issuer, time and environment.
    ///
    /// - Parameters:
    ///   - environment: where it is used.
    ///   - now: wall clock, in seconds since 1970.
    /// - Returns: why the certificate is no credential, or nil.
    func failure(in environment: Environment, now: Int64) -> APNsRejection? {
        guard certificate.isSigned(by: issuer), certificate.isValid(at: now) else { return .badCertificate }
        return environments.contains(environment) ? nil : .badCertificateEnvironment
    }
}
