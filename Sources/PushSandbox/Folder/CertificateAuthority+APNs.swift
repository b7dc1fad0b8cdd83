import SandboxCrypto

extension CertificateAuthority {
    /// The client certificates that Apple issues for APNs.
    enum APNsClientKind {
        /// "Sandbox & Production", with topics for calls and complications.
        case universal
        /// The older "iOS Development": one environment, and no list of topics.
        case developmentOnly
    }

    /// Creates a client certificate as Apple issues them for APNs, valid for 13 months.
    ///
    /// - Parameters:
    ///   - bundleID: the bundle id of its only app.
    ///   - authority: the CA that signs it.
    ///   - kind: the kind of certificate.
    /// - Returns: the certificate and its key.
    /// - Throws: OpenSSL's error.
    static func makeAPNsClient(
        bundleID: String,
        signedBy authority: Identity,
        kind: APNsClientKind = .universal
    ) throws -> Identity {
        try make(
            CertificateForm(
                subject: [
                    (type: "UID", value: bundleID), (type: "CN", value: "Apple Push Services: \(bundleID)"),
                ],
                days: 395,
                extensions: [
                    (name: "basicConstraints", value: "critical,CA:FALSE"),
                    (name: "keyUsage", value: "critical,digitalSignature"),
                    (name: "extendedKeyUsage", value: "clientAuth"),
                ] + appleExtensions(bundleID, kind)
            ),
            signedBy: authority
        )
    }

    private static func appleExtensions(_ bundleID: String, _ kind: APNsClientKind) -> [(name: String, value: String)] {
        let null = "DER:0500"
        let sandbox = (name: APNsCertificate.ExtensionID.sandboxMarker, value: null)
        guard kind == .universal else { return [sandbox] }
        let topics = TopicList(topics: [
            (topic: bundleID, kinds: ["app"]), (topic: bundleID + ".voip", kinds: ["voip"]),
            (topic: bundleID + ".complication", kinds: ["complication"]),
        ])
        let digits = topics.der.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return [
            sandbox, (name: APNsCertificate.ExtensionID.productionMarker, value: null),
            (name: APNsCertificate.ExtensionID.topics, value: "DER:" + digits.joined()),
        ]
    }

    /// Returns whether a PEM file of certificate and key is still usable for an app.
    static func isUsableAPNsClient(_ pem: String, bundleID: String, signedBy authority: Identity) -> Bool {
        guard isUsable(Identity(certificate: pem, key: ""), signedBy: authority),
            let certificate = Certificate.read(pem: pem), let issuer = Certificate.read(pem: authority.certificate)
        else { return false }
        return APNsCertificate(certificate, issuer: issuer).bundleID == bundleID
    }
}
