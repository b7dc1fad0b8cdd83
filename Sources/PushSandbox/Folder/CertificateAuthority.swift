import Foundation
import SandboxCrypto

/// The sandbox's own CA, and the server certificate that it signs.
enum CertificateAuthority {
    /// A certificate and its key, both as PEM.
    struct Identity {
        let certificate: String
        let key: String
    }

    /// The host names of the simulated services, for `endpoint:` URLs and for clients that map the real host names.
    static let serverNames = [
        "localhost",
        "api.push.apple.com", "api.sandbox.push.apple.com", "api.development.push.apple.com",
        "api-broadcast.push.apple.com", "api-broadcast.sandbox.push.apple.com",
        "api-manage-broadcast.push.apple.com", "api-manage-broadcast.sandbox.push.apple.com",
        "fcm.googleapis.com", "fcm.mtls.googleapis.com", "oauth2.googleapis.com",
        "web.push.apple.com", "updates.push.services.mozilla.com", "*.notify.windows.com",
    ]

    private static let loopbackAddresses = ["127.0.0.1", "::1"]

    /// Creates a self-signed CA, valid for ten years; only this sandbox's clients trust it.
    static func makeAuthority() throws -> Identity {
        let key = try P256PrivateKey()
        // A unique name distinguishes the CAs of two sandboxes in a client that trusts both.
        let name = "Fanfare sandbox CA \(UUID().uuidString.prefix(8))"
        let form = CertificateForm(
            subject: [(type: "O", value: "Fanfare sandbox"), (type: "CN", value: name)],
            days: 3650,
            extensions: [
                (name: "basicConstraints", value: "critical,CA:TRUE,pathlen:0"),
                (name: "keyUsage", value: "critical,keyCertSign,cRLSign"),
                (name: "subjectKeyIdentifier", value: "hash"),
            ]
        )
        return Identity(certificate: try form.certificate(for: key).pem(), key: try key.pem())
    }

    /// Creates a server certificate for `serverNames` and the loopback addresses, valid for a year.
    static func makeServer(signedBy authority: Identity) throws -> Identity {
        let names = serverNames.map { "DNS:" + $0 } + loopbackAddresses.map { "IP:" + $0 }
        return try make(
            CertificateForm(
                subject: [(type: "CN", value: "localhost")],
                days: 365,
                extensions: [
                    (name: "basicConstraints", value: "critical,CA:FALSE"),
                    (name: "keyUsage", value: "critical,digitalSignature"),
                    (name: "extendedKeyUsage", value: "serverAuth"),
                    (name: "subjectAltName", value: names.joined(separator: ",")),
                    (name: "authorityKeyIdentifier", value: "keyid:always"),
                ]
            ),
            signedBy: authority
        )
    }

    /// Creates a key and its certificate.
    static func make(_ form: CertificateForm, signedBy authority: Identity) throws -> Identity {
        guard let issuer = Certificate.read(pem: authority.certificate),
            let issuerKey = P256PrivateKey(pem: authority.key)
        else { throw SandboxError(.folder, "ca.pem or ca-key.pem is damaged; remove both to have new ones made") }
        let key = try P256PrivateKey()
        let certificate = try form.certificate(for: key, signedBy: (issuer, issuerKey))
        return Identity(certificate: try certificate.pem(), key: try key.pem())
    }

    /// Returns whether a certificate is still usable: signed by this CA, and valid for another day.
    static func isUsable(_ identity: Identity, signedBy authority: Identity) -> Bool {
        guard let certificate = Certificate.read(pem: identity.certificate),
            let issuer = Certificate.read(pem: authority.certificate)
        else { return false }
        let tomorrow = Int64(Date().timeIntervalSince1970) + 86_400
        return certificate.isSigned(by: issuer) && certificate.isValid(at: tomorrow)
    }
}
