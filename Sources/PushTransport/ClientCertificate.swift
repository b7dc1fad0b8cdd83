/// A certificate that a client shows in the TLS handshake, with its private key.
///
/// Only carries the bytes; who made them has checked that they belong together.
public final class ClientCertificate: Sendable {
    /// The certificate and after it those that vouch for it, in PEM.
    public let chain: [UInt8]

    /// The private key in PEM, not encrypted.
    ///
    /// A secret: never logged.
    public let privateKey: [UInt8]

    /// Makes one.
    ///
    /// - Parameters:
    ///   - chain: the certificate and after it those that vouch for it, in PEM.
    ///   - privateKey: the private key in PEM, not encrypted.
    public init(chain: [UInt8], privateKey: [UInt8]) {
        self.chain = chain
        self.privateKey = privateKey
    }
}
