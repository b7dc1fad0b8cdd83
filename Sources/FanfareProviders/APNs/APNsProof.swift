internal import PushCrypto
package import PushTransport
internal import Threading

/// The credential of a single request to APNs: a certificate in the TLS handshake, or a token in a header field.
package struct APNsProof {
    /// The certificate for the handshake; nil with a signing key.
    package let clientCertificate: ClientCertificate?
    /// The header fields that carry the credential.
    package let fields: [HeaderField]

    /// Loads the certificate, or signs a token.
    ///
    /// - Parameters:
    ///   - apns: the app's credentials.
    ///   - app: its name.
    ///   - files: reads the key or certificate.
    /// - Throws: if a file cannot be used, or OpenSSL cannot sign.
    package init(_ apns: APNsSettings, app: String, files: CredentialFiles) throws {
        clientCertificate = try files.clientCertificate(apns, app: app)
        var fields: [HeaderField] = []
        if clientCertificate == nil {
            let key = try files.signingKey(apns, app: app)
            let tokens = ProviderTokens(key: key, issuer: .init(keyID: apns.keyID, teamID: apns.teamID))
            let token = try tokens.current(at: Clocks.steady, wall: Clocks.wall)
            if let authorization = token.authorization {
                fields.append(try HeaderField("authorization", authorization))
            }
        }
        self.fields = fields
    }
}
