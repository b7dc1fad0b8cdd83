import Foundation
import SwiftASN1
import X509

/// A client certificate as APNs understands it: the credential of the kind before provider tokens.
struct APNsCertificate {
    /// Apple's extensions; reference: client libraries, Apple does not publish them.
    enum ExtensionID {
        static let sandboxMarker: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
        static let productionMarker: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]
        static let topics: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]
    }

    /// `UID` in a distinguished name (RFC 4519 section 2.39), where the bundle id stands.
    static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]

    private let certificate: Certificate
    private let issuer: Certificate.PublicKey
    /// What it may push to.
    private let topics: [(topic: String, kinds: [String])]
    /// The bundle id of its subject.
    let bundleID: String?
    private let environments: Set<Environment>

    /// Reads a certificate; nil if it is none.
    ///
    /// - Parameters:
    ///   - der: what the client presented.
    ///   - issuer: key of the only CA that counts.
    init?(_ der: [UInt8], issuer: Certificate.PublicKey) {
        guard let certificate = try? Certificate(derEncoded: der) else { return nil }
        self.certificate = certificate
        self.issuer = issuer
        bundleID = certificate.subject.lazy.flatMap(\.self)
            .first { $0.type == Self.userID }
            .flatMap { String($0.value) }
        let listed = certificate.extensions[oid: ExtensionID.topics].flatMap { try? Self.topics($0.value) }
        topics = listed ?? bundleID.map { [(topic: $0, kinds: ["app"])] } ?? []
        let markers: [(ASN1ObjectIdentifier, Environment)] = [
            (ExtensionID.sandboxMarker, .sandbox), (ExtensionID.productionMarker, .production),
        ]
        let marked = markers.filter { certificate.extensions[oid: $0.0] != nil }.map(\.1)
        environments = Set(marked.isEmpty ? Environment.allCases : marked)
    }

    /// The topic of a request that names none; there is one only if the certificate has no other.
    var defaultTopic: String? {
        topics.count == 1 ? topics.first?.topic : nil
    }

    /// The bundle ids it covers, with whatever suffix.
    var bundleIDs: [String] {
        topics.filter { $0.kinds.contains("app") }.map(\.topic)
    }

    /// Judges issuer, time and environment.
    ///
    /// - Parameters:
    ///   - environment: where it is used.
    ///   - now: wall clock, in seconds since 1970.
    /// - Returns: why the certificate is no credential, or nil.
    func failure(in environment: Environment, now: Int64) -> APNsRejection? {
        let date = Date(timeIntervalSince1970: Double(now))
        guard issuer.isValidSignature(certificate.signature, for: certificate),
            certificate.notValidBefore <= date, date < certificate.notValidAfter
        else { return .badCertificate }
        return environments.contains(environment) ? nil : .badCertificateEnvironment
    }

    /// Reads the topics extension: a sequence of topics, each followed by a sequence of its kinds.
    private static func topics(_ bytes: ArraySlice<UInt8>) throws -> [(topic: String, kinds: [String])] {
        try DER.sequence(try DER.parse(bytes), identifier: .sequence) { nodes in
            var topics: [(topic: String, kinds: [String])] = []
            while let node = nodes.next(), let kindsNode = nodes.next() {
                let topic = text(try ASN1UTF8String(derEncoded: node))
                let kinds = try DER.sequence(of: ASN1UTF8String.self, identifier: .sequence, rootNode: kindsNode)
                topics.append((topic: topic, kinds: kinds.map(text)))
            }
            return topics
        }
    }

    private static func text(_ string: ASN1UTF8String) -> String {
        String(decoding: string.bytes, as: UTF8.self)
    }

    /// The DER of a topics extension.
    static func encode(topics: [(topic: String, kinds: [String])]) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence) { coder in
            for (topic, kinds) in topics {
                try coder.serialize(ASN1UTF8String(topic))
                try coder.serializeSequenceOf(kinds.map { ASN1UTF8String($0) })
            }
        }
        return serializer.serializedBytes
    }
}
