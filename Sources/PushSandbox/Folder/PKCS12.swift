import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import X509

/// Writes PKCS#12 files (RFC 7292) as OpenSSL 3 does by default: PBES2 with AES-256, MAC with SHA-256.
enum PKCS12 {
    /// The number OpenSSL uses; the password beside the file is as safe as the file.
    private static let iterations = 2048

    /// Bundles a certificate with its key.
    ///
    /// - Parameters:
    ///   - certificate: the certificate.
    ///   - key: its key, PKCS#8 in DER.
    ///   - name: what programs show.
    ///   - password: protects the key.
    /// - Returns: the file.
    /// - Throws: what swift-crypto throws.
    static func bundle(certificate: Certificate, key: Data, name: String, password: String) throws -> Data {
        var serializer = DER.Serializer()
        try serializer.serialize(certificate)
        let der = serializer.serializedBytes
        let attributes = Attributes(name: name, localKeyID: Array(Insecure.SHA1.hash(data: der)))
        let bags = try sequence { coder in
            try bag(.shroudedKeyBag, encrypted(key, password), attributes, into: &coder)
            try bag(.certificateBag, certificateBag(der), attributes, into: &coder)
        }
        let safes = try sequence { coder in try data(bags, into: &coder) }
        return Data(
            try sequence { coder in
                try coder.serialize(3)
                try data(safes, into: &coder)
                try mac(of: safes, password, into: &coder)
            }
        )
    }

    /// Attributes of both bags, which tell that they belong together.
    private struct Attributes {
        let name: String
        let localKeyID: [UInt8]
    }

    private static func sequence(_ body: (inout DER.Serializer) throws -> Void) throws -> [UInt8] {
        var serializer = DER.Serializer()
        try serializer.appendConstructedNode(identifier: .sequence, body)
        return serializer.serializedBytes
    }

    /// `ContentInfo` of type data.
    private static func data(_ content: [UInt8], into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(ASN1ObjectIdentifier.data)
            try coder.serialize(
                ASN1OctetString(contentBytes: content[...]),
                explicitlyTaggedWithTagNumber: 0,
                tagClass: .contextSpecific
            )
        }
    }

    /// `SafeBag`.
    private static func bag(
        _ type: ASN1ObjectIdentifier,
        _ content: [UInt8],
        _ attributes: Attributes,
        into coder: inout DER.Serializer
    ) throws {
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(type)
            coder.serialize(explicitlyTaggedWithTagNumber: 0, tagClass: .contextSpecific) { coder in
                coder.serializeRawBytes(content)
            }
            // A set in DER is sorted: the shorter attribute comes first, by their lengths and then their ids.
            let encoded = [
                try attribute(.friendlyName) {
                    try $0.serialize(ASN1BMPString(contentBytes: utf16(attributes.name)[...]))
                },
                try attribute(.localKeyID) {
                    try $0.serialize(ASN1OctetString(contentBytes: attributes.localKeyID[...]))
                },
            ]
            coder.appendConstructedNode(identifier: .set) { coder in
                for bytes in encoded.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                    coder.serializeRawBytes(bytes)
                }
            }
        }
    }

    private static func attribute(
        _ type: ASN1ObjectIdentifier,
        _ value: (inout DER.Serializer) throws -> Void
    ) throws -> [UInt8] {
        try sequence { coder in
            try coder.serialize(type)
            try coder.appendConstructedNode(identifier: .set, value)
        }
    }

    /// `CertBag` with an X.509 certificate.
    private static func certificateBag(_ der: [UInt8]) throws -> [UInt8] {
        try sequence { coder in
            try coder.serialize(ASN1ObjectIdentifier.x509Certificate)
            try coder.serialize(
                ASN1OctetString(contentBytes: der[...]),
                explicitlyTaggedWithTagNumber: 0,
                tagClass: .contextSpecific
            )
        }
    }

    /// `EncryptedPrivateKeyInfo` by PBES2 (RFC 8018 section 6.2).
    private static func encrypted(_ key: Data, _ password: String) throws -> [UInt8] {
        let salt = random(16)
        let initial = random(16)
        let derived = try KDF.Insecure.PBKDF2.deriveKey(
            from: Data(password.utf8),
            salt: salt,
            using: .sha256,
            outputByteCount: 32,
            unsafeUncheckedRounds: iterations
        )
        let ciphertext = try AES._CBC.encrypt(key, using: derived, iv: AES._CBC.IV(ivBytes: initial))
        return try sequence { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.serialize(ASN1ObjectIdentifier.pbes2)
                try coder.appendConstructedNode(identifier: .sequence) { coder in
                    try derivation(salt, into: &coder)
                    try coder.appendConstructedNode(identifier: .sequence) { coder in
                        try coder.serialize(ASN1ObjectIdentifier.aes256CBC)
                        try coder.serialize(ASN1OctetString(contentBytes: initial[...]))
                    }
                }
            }
            try coder.serialize(ASN1OctetString(contentBytes: Array(ciphertext)[...]))
        }
    }

    private static func derivation(_ salt: [UInt8], into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(ASN1ObjectIdentifier.pbkdf2)
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try coder.serialize(ASN1OctetString(contentBytes: salt[...]))
                try coder.serialize(iterations)
                try algorithm(.hmacWithSHA256, into: &coder)
            }
        }
    }

    /// `MacData` (RFC 7292 section 4 and appendix B).
    private static func mac(of content: [UInt8], _ password: String, into coder: inout DER.Serializer) throws {
        let salt = random(16)
        // Appendix B.2 with id 3; one block of SHA-256 is all that is needed.
        let block = 64
        let passwordBytes = utf16(password) + [0, 0]
        var digest = Array(
            SHA256.hash(
                data: [UInt8](repeating: 3, count: block) + repeated(salt, to: block)
                    + repeated(passwordBytes, to: block)
            )
        )
        for _ in 1..<iterations {
            digest = Array(SHA256.hash(data: digest))
        }
        let code = Array(HMAC<SHA256>.authenticationCode(for: content, using: SymmetricKey(data: digest)))
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.appendConstructedNode(identifier: .sequence) { coder in
                try algorithm(.sha256, into: &coder)
                try coder.serialize(ASN1OctetString(contentBytes: code[...]))
            }
            try coder.serialize(ASN1OctetString(contentBytes: salt[...]))
            try coder.serialize(iterations)
        }
    }

    private static func algorithm(_ id: ASN1ObjectIdentifier, into coder: inout DER.Serializer) throws {
        try coder.appendConstructedNode(identifier: .sequence) { coder in
            try coder.serialize(id)
            try coder.serialize(ASN1Null())
        }
    }

    /// Copies put one after another up to the next multiple of a block.
    private static func repeated(_ bytes: [UInt8], to block: Int) -> [UInt8] {
        let length = (bytes.count + block - 1) / block * block
        return (0..<length).map { bytes[$0 % bytes.count] }
    }

    private static func utf16(_ text: String) -> [UInt8] {
        text.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
    }

    private static func random(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255) }
    }
}

extension ASN1ObjectIdentifier {
    fileprivate static let data: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 7, 1]
    fileprivate static let friendlyName: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 20]
    fileprivate static let localKeyID: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 21]
    fileprivate static let x509Certificate: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 9, 22, 1]
    fileprivate static let shroudedKeyBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 2]
    fileprivate static let certificateBag: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 12, 10, 1, 3]
    fileprivate static let pbkdf2: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 5, 12]
    fileprivate static let pbes2: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 1, 5, 13]
    fileprivate static let hmacWithSHA256: ASN1ObjectIdentifier = [1, 2, 840, 113_549, 2, 9]
    fileprivate static let aes256CBC: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 1, 42]
    fileprivate static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]
}
