import SandboxCrypto

/// A client certificate for APNs, the credential that provider tokens replaced.
struct APNsCertificate {
    /// Apple's extensions, as client libraries document them; Apple does not.
    enum ExtensionID {
        static let sandboxMarker = "1.2.840.113635.100.6.3.1"
        static let productionMarker = "1.2.840.113635.100.6.3.2"
        static let topics = "1.2.840.113635.100.6.3.6"
    }

    private let certificate: Certificate
    private let issuer: Certificate
    /// The topics that it may push to.
    private let topics: [(topic: String, kinds: [String])]
    /// The bundle id of the subject.
    let bundleID: String?
    private let environments: Set<Environment>

    /// Reads a certificate; nil if it is invalid.
    ///
    /// - Parameters:
    ///   - der: the certificate that the client presented.
    ///   - issuer: the only accepted CA.
    init?(_ der: [UInt8], issuer: Certificate) {
        guard let certificate = Certificate.decode(der: der) else { return nil }
        self.init(certificate, issuer: issuer)
    }

    /// Creates the credential from a certificate.
    ///
    /// - Parameters:
    ///   - certificate: the certificate that the client presented.
    ///   - issuer: the only accepted CA.
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

    /// The topic of a request that names none; nil if the certificate has several topics.
    var defaultTopic: String? {
        topics.count == 1 ? topics.first?.topic : nil
    }

    /// The bundle ids that it covers, with any topic suffix.
    var bundleIDs: [String] {
        topics.filter { $0.kinds.contains("app") }.map(\.topic)
    }

    /// Checks issuer, validity and environment.
    ///
    /// - Parameters:
    ///   - environment: the environment in which it is used.
    ///   - now: the wall clock, in seconds since 1970.
    /// - Returns: the reason why the certificate is rejected, or nil.
    func failure(in environment: Environment, now: Int64) -> APNsRejection? {
        guard certificate.isSigned(by: issuer), certificate.isValid(at: now) else { return .badCertificate }
        return environments.contains(environment) ? nil : .badCertificateEnvironment
    }
}
