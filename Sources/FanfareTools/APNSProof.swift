internal import FanfareConfiguration
internal import FanfareService
internal import PushCrypto
internal import PushTransport

/// What a single request to APNs proves its sender by: a certificate in the handshake, or else a token in a field.
struct APNSProof {
    let clientCertificate: ClientCertificate?
    /// What the request has beside its own fields.
    let fields: [HeaderField]

    /// Reads the certificate, or signs a token.
    ///
    /// - Parameters:
    ///   - apns: the app's credentials.
    ///   - app: its name.
    ///   - files: reads the key or certificate.
    /// - Throws: for a file that cannot be used, or if OpenSSL cannot sign.
    init(_ apns: Configuration.APNS, app: String, files: CredentialFiles) throws {
        clientCertificate = try files.clientCertificate(apns, app: app)
        var fields: [HeaderField] = []
        if clientCertificate == nil {
            let tokens = try files.providerTokens(apns, app: app)
            let token = try tokens.current(at: Clocks.steady, wall: Clocks.wall)
            if let authorization = token.authorization {
                fields.append(try HeaderField("authorization", authorization))
            }
        }
        self.fields = fields
    }
}
