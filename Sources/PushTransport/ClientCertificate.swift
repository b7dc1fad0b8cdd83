/// A client certificate for the TLS handshake, with its private key.
///
/// Holds the bytes only; its creator has checked that certificate and key belong together.
public final class ClientCertificate: Sendable {
    /// The certificate, followed by its intermediate certificates, in PEM.
    public let chain: [UInt8]

    /// The private key in PEM, not encrypted.
    ///
    /// A secret: never logged.
    public let privateKey: [UInt8]

    /// Creates a client certificate.
    ///
    /// - Parameters:
    ///   - chain: the certificate, followed by its intermediate certificates, in PEM.
    ///   - privateKey: the private key in PEM, not encrypted.
    public init(chain: [UInt8], privateKey: [UInt8]) {
        self.chain = chain
        self.privateKey = privateKey
    }
}
