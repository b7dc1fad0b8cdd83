package import PushCrypto
package import PushTransport
internal import Threading

extension CredentialFiles {
    /// Reads an APNs signing key.
    package func signingKey(_ apns: APNsSettings, app: String) throws(DaemonError) -> SigningKey {
        try read("apps.\(app).apns.key_file", from: "Apple's developer site makes the .p8 file.") {
            (guardedFolders) throws(KeyError) in
            try SigningKey.load(pemFile: apns.keyFile, expecting: .es256, guardedFolders: guardedFolders)
        }
    }

    /// Reads an APNs certificate and checks that it is valid now and for the app's topic.
    ///
    /// - Parameters:
    ///   - apns: the app's APNs credentials.
    ///   - app: its name.
    ///   - now: seconds since 1970.
    /// - Returns: the certificate; nil if the app signs with a key.
    /// - Throws: ``DaemonError`` if the file, password, validity or topic is wrong.
    package func certificate(
        _ apns: APNsSettings,
        app: String,
        now: Int64
    ) throws(DaemonError) -> APNsCertificate? {
        guard let file = apns.certificateFile else { return nil }
        let origin = "Export certificate and key together, as .p12 or .pem, valid and for the app's bundle id."
        return try read("apps.\(app).apns.certificate_file", from: origin) { (guardedFolders) throws(KeyError) in
            let certificate = try APNsCertificate.load(
                file: file,
                passwordFile: apns.certificatePasswordFile,
                guardedFolders: guardedFolders
            )
            try certificate.check(topic: apns.topic, at: now)
            return certificate
        }
    }

    /// Returns the certificate for a TLS handshake with APNs, if it is valid now; nil if the app signs with a key.
    package func clientCertificate(_ apns: APNsSettings, app: String) throws(DaemonError) -> ClientCertificate? {
        guard let shown = try certificate(apns, app: app, now: Clocks.wallSeconds) else { return nil }
        return ClientCertificate(chain: shown.chainPEM, privateKey: shown.privateKeyPEM)
    }
}
