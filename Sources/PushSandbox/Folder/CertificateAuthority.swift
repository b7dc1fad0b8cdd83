import Crypto
import Foundation
import SwiftASN1
import X509

/// Makes the sandbox's own CA and the server certificate it vouches for.
enum CertificateAuthority {
    /// A certificate and its key, both as PEM.
    struct Identity {
        let certificate: String
        let key: String
    }

    /// Names the simulated services answer to, for `endpoint:` URLs and for clients that map the real host names.
    static let serverNames = [
        "localhost",
        "api.push.apple.com", "api.sandbox.push.apple.com", "api.development.push.apple.com",
        "api-broadcast.push.apple.com", "api-broadcast.sandbox.push.apple.com",
        "api-manage-broadcast.push.apple.com", "api-manage-broadcast.sandbox.push.apple.com",
        "fcm.googleapis.com", "fcm.mtls.googleapis.com", "oauth2.googleapis.com", "iid.googleapis.com",
        "web.push.apple.com", "updates.push.services.mozilla.com", "*.notify.windows.com",
    ]

    private static let loopbackAddresses: [[UInt8]] = [
        [127, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ]

    /// A self-signed CA, valid for ten years: nobody but this sandbox's clients trusts it.
    static func makeAuthority() throws -> Identity {
        let key = P256.Signing.PrivateKey()
        // A name of its own keeps two sandboxes' CAs apart in a client that is given both.
        let name = try DistinguishedName {
            OrganizationName("Fanfare sandbox")
            CommonName("Fanfare sandbox CA \(UUID().uuidString.prefix(8))")
        }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: -3600),
            notValidAfter: Date(timeIntervalSinceNow: 3650 * 86_400),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true, cRLSign: true))
                SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
            },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        return Identity(certificate: try certificate.serializeAsPEM().pemString, key: key.pemRepresentation)
    }

    /// A server certificate for `serverNames` and the loopback addresses, valid for a year.
    static func makeServer(signedBy authority: Identity) throws -> Identity {
        let authorityKey = try P256.Signing.PrivateKey(pemRepresentation: authority.key)
        let authorityCertificate = try Certificate(pemEncoded: authority.certificate)
        let key = P256.Signing.PrivateKey()
        let addresses = loopbackAddresses.map { GeneralName.ipAddress(ASN1OctetString(contentBytes: $0[...])) }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: -3600),
            notValidAfter: Date(timeIntervalSinceNow: 365 * 86_400),
            issuer: authorityCertificate.subject,
            subject: try DistinguishedName { CommonName("localhost") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                SubjectAlternativeNames(serverNames.map { GeneralName.dnsName($0) } + addresses)
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(hash: authorityCertificate.publicKey).keyIdentifier
                )
            },
            issuerPrivateKey: Certificate.PrivateKey(authorityKey)
        )
        return Identity(certificate: try certificate.serializeAsPEM().pemString, key: key.pemRepresentation)
    }

    /// Whether a certificate can go on being used: signed by this CA and good for another day.
    static func isUsable(_ identity: Identity, signedBy authority: Identity) -> Bool {
        guard let certificate = try? Certificate(pemEncoded: identity.certificate),
            let issuer = try? Certificate(pemEncoded: authority.certificate)
        else { return false }
        return issuer.publicKey.isValidSignature(certificate.signature, for: certificate)
            && certificate.notValidAfter > Date(timeIntervalSinceNow: 86_400)
    }
}
