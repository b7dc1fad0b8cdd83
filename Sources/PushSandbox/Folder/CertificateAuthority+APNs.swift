import Crypto
import Foundation
import SwiftASN1
import X509

extension CertificateAuthority {
    /// The client certificates Apple issues for APNs.
    enum APNsClientKind {
        /// "Sandbox & Production", with topics for calls and complications.
        case universal
        /// The older "iOS Development": one environment, and no list of topics.
        case developmentOnly
    }

    /// Makes a client certificate as Apple issues them for APNs, valid for 13 months.
    ///
    /// - Parameters:
    ///   - bundleID: of the only app it is for.
    ///   - authority: who vouches for it.
    ///   - kind: what it is good for.
    /// - Returns: certificate and key.
    /// - Throws: what swift-certificates throws.
    static func makeAPNsClient(
        bundleID: String,
        signedBy authority: Identity,
        kind: APNsClientKind = .universal
    ) throws -> Identity {
        let authorityKey = try P256.Signing.PrivateKey(pemRepresentation: authority.key)
        let authorityCertificate = try Certificate(pemEncoded: authority.certificate)
        let key = P256.Signing.PrivateKey()
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Date(timeIntervalSinceNow: -3600),
            notValidAfter: Date(timeIntervalSinceNow: 395 * 86_400),
            issuer: authorityCertificate.subject,
            subject: DistinguishedName([
                RelativeDistinguishedName(.init(type: APNsCertificate.userID, utf8String: bundleID)),
                RelativeDistinguishedName(
                    .init(type: .RDNAttributeType.commonName, utf8String: "Apple Push Services: \(bundleID)")
                ),
            ]),
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.clientAuth])
                for appleExtension in try appleExtensions(bundleID, kind) {
                    appleExtension
                }
            },
            issuerPrivateKey: Certificate.PrivateKey(authorityKey)
        )
        return Identity(certificate: try certificate.serializeAsPEM().pemString, key: key.pemRepresentation)
    }

    private static func appleExtensions(
        _ bundleID: String,
        _ kind: APNsClientKind
    ) throws -> [Certificate.Extension] {
        let null: ArraySlice<UInt8> = [5, 0]
        let sandbox = Certificate.Extension(
            oid: APNsCertificate.ExtensionID.sandboxMarker,
            critical: false,
            value: null
        )
        guard kind == .universal else { return [sandbox] }
        let topics = try APNsCertificate.encode(topics: [
            (topic: bundleID, kinds: ["app"]), (topic: bundleID + ".voip", kinds: ["voip"]),
            (topic: bundleID + ".complication", kinds: ["complication"]),
        ])
        return [
            sandbox,
            Certificate.Extension(oid: APNsCertificate.ExtensionID.productionMarker, critical: false, value: null),
            Certificate.Extension(oid: APNsCertificate.ExtensionID.topics, critical: false, value: topics[...]),
        ]
    }

    /// Whether a PEM file of certificate and key can go on being used for an app.
    static func isUsableAPNsClient(_ pem: String, bundleID: String, signedBy authority: Identity) -> Bool {
        guard let certificate = try? PEMDocument.parseMultiple(pemString: pem).first?.pemString,
            isUsable(Identity(certificate: certificate, key: ""), signedBy: authority),
            let der = try? PEMDocument(pemString: certificate).derBytes,
            let issuer = try? Certificate(pemEncoded: authority.certificate).publicKey
        else { return false }
        return APNsCertificate(der, issuer: issuer)?.bundleID == bundleID
    }
}
