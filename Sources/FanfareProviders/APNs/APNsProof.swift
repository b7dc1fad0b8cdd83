internal import PushCrypto
package import PushTransport
internal import Threading

/// What a single request to APNs proves its sender by: a certificate in the handshake, or else a token in a field.
package struct APNsProof {
    /// What the handshake shows; nil with a signing key.
    package let clientCertificate: ClientCertificate?
    /// What the request has beside its own fields.
    package let fields: [HeaderField]

    /// Reads the certificate, or signs a token.
    ///
    /// - Parameters:
    ///   - apns: the app's credentials.
    ///   - app: its name.
    ///   - files: reads the key or certificate.
    /// - Throws: for a file that cannot be used, or if OpenSSL cannot sign.
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
