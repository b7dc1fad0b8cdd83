import Foundation
import TestKit
import Testing

@testable import PushCrypto

/// Web Push encryption, checked against RFC 8291 section 5 and appendix A, and against `openssl`.
struct WebPushEncryptionTests {
    static let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    static let ephemeralKey = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
    static let salt = "DGv6ra1nlYgDCS1FRnbzlw"
    static let watermelon = "When I grow up, I want to be a watermelon"

    let encryptor: WebPushEncryptor
    let keys: SubscriptionKeys

    init() throws {
        encryptor = try WebPushEncryptor()
        keys = try SubscriptionKeys(p256dh: Self.p256dh, auth: Self.auth)
    }

    private func sealed(_ plaintext: [UInt8], padding: Int = 0) throws -> [UInt8] {
        try encryptor.encrypt(
            plaintext,
            for: keys,
            ephemeralKey: #require(Base64URL.decode(Self.ephemeralKey)),
            salt: #require(Base64URL.decode(Self.salt)),
            padding: padding
        )
    }

    @Test func theExampleOfTheRFC() throws {
        let expected = """
            DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK\
            6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
            """
        #expect(try Base64URL.encode(sealed(Array(Self.watermelon.utf8))) == expected)
    }

    struct Vector: Sendable {
        let plaintext: String
        let padding: Int
        let ciphertext: String?
        let digest: String
    }

    /// The same keys, other lengths and padding.
    @Test(arguments: [
        Vector(
            plaintext: "",
            padding: 0,
            ciphertext: "p1gPSRS1XkN9hEVCx_GBFHA",
            digest: "0ebb6cb348d90769aedd33e79cb7ce3ca02c9e677fd42d322d920617e1b53654"
        ),
        Vector(
            plaintext: "A",
            padding: 0,
            ciphertext: "5P3LPA6UmlqJkGTHVhOxc-KR",
            digest: "55d7f0f09ecca1814fb1e512ee994162b450b019c6a055bca4564b49ac4f613a"
        ),
        Vector(
            plaintext: watermelon,
            padding: 7,
            ciphertext: """
                8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1Vhjkq5_r-A7eYRkLPncUsNI2l7zb2Web9A
                """,
            digest: "1253c111f906d46b9fd75aab3474a65940eb89cf46dc5ceeda40e62e2a8e6b4f"
        ),
        Vector(
            plaintext: String(repeating: "\0", count: 3993),
            padding: 0,
            ciphertext: nil,
            digest: "2f8d52b2d44b82aeda9027d386e21312e12b68f2671a7c6d7858643c480a0d10"
        ),
        Vector(
            plaintext: String(repeating: "\0", count: 3992),
            padding: 1,
            ciphertext: nil,
            digest: "2277003bc103446000efa8b2aa217b56546747567f448502dd93f9a489720390"
        ),
    ])
    func derivedVectors(_ vector: Vector) throws {
        let body = try sealed(Array(vector.plaintext.utf8), padding: vector.padding)
        #expect(body.count == 103 + vector.plaintext.utf8.count + vector.padding)
        if let ciphertext = vector.ciphertext { #expect(Base64URL.encode(body.dropFirst(86)) == ciphertext) }
        #expect(hexadecimal(sha256(body)) == vector.digest)
    }

    /// Decrypts with the `openssl` command: ECDH, HKDF, and GCM's counter mode.
    @Test func whatItMakesFromNewKeysCanBeRead() async throws {
        let openssl = try OpenSSL()
        let receiver = try await SigningKey.load(pemFile: openssl.makeKey("ua.pem", p256), expecting: .es256)
        let publicKey = try receiver.publicPoint()
        let secret = try randomBytes(16)
        let keys = try SubscriptionKeys(p256dh: Base64URL.encode(publicKey), auth: Base64URL.encode(secret))
        for length in [0, 1, 500, 3990] {
            let plaintext = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            let body = try encryptor.encrypt(plaintext, for: keys, padding: 3)
            let sender = Array(body[21..<86])
            try await openssl.writePublicKey("as.pem", point: sender)
            let shared = try await openssl.output([
                "pkeyutl", "-derive", "-inkey", "ua.pem", "-peerkey", "as.pem", "-out",
            ])
            let info = Array("WebPush: info\0".utf8) + publicKey + sender
            let material = try await openssl.hkdf(shared, salt: secret, info: info, count: 32)
            let salt = Array(body[..<16])
            let (keyInfo, nonceInfo) = ("Content-Encoding: aes128gcm\0", "Content-Encoding: nonce\0")
            let key = try await openssl.hkdf(material, salt: salt, info: Array(keyInfo.utf8), count: 16)
            let nonce = try await openssl.hkdf(material, salt: salt, info: Array(nonceInfo.utf8), count: 12)
            try openssl.write("sealed", Array(body[86...].dropLast(16)))
            let opened = try await openssl.output([
                "enc", "-d", "-aes-128-ctr", "-K", hexadecimal(key), "-iv", hexadecimal(nonce) + "00000002",
                "-in", "sealed", "-out",
            ])
            #expect(opened == plaintext + [2, 0, 0, 0])
        }
    }

    @Test func eachMessageHasAKeyAndASaltOfItsOwn() throws {
        let bodies = try (0..<50).map { _ in try encryptor.encrypt([1, 2, 3], for: keys) }
        #expect(Set(bodies.map { Array($0[..<16]) }).count == 50)
        #expect(Set(bodies.map { Array($0[21..<86]) }).count == 50)
        for body in bodies {
            #expect(body[16..<21].elementsEqual([0, 0, 16, 0, 65]))
            #expect(try CurveP256.shared().holds(Array(body[21..<86])))
        }
    }

    @Test func whatDoesNotFitIsRefused() throws {
        let long = [UInt8](repeating: 120, count: 3994)
        let error = #expect(throws: WebPushEncryptionError.self) { try encryptor.encrypt(long, for: keys) }
        #expect(error == .tooLong(count: 3994, limit: 3993))
        #expect(error?.description.contains("xxx") == false)
        #expect(throws: WebPushEncryptionError.self) { try encryptor.encrypt([1], for: keys, padding: 3993) }
        #expect(try encryptor.encrypt(Array(long.dropLast()), for: keys).count == 4096)
    }

    @Test func paddedAndPlainBase64Keys() throws {
        let plain = Self.p256dh.replacing("-", with: "+").replacing("_", with: "/") + "="
        #expect(try SubscriptionKeys(p256dh: plain, auth: Self.auth + "==") == keys)
    }

    static let pointNextToTheCurve: String = {
        var point = Base64URL.decode(p256dh) ?? []
        point[64] ^= 1
        return Base64URL.encode(point)
    }()

    @Test(arguments: [
        ("", auth, SubscriptionKeyError.Field.p256dh, SubscriptionKeyError.Reason.length(0)),
        ("marked*", auth, .p256dh, .notBase64),
        (String(p256dh.dropLast(4)), auth, .p256dh, .length(62)),
        ("A" + p256dh.dropFirst(), auth, .p256dh, .compressed),
        ("BAAA" + String(repeating: "A", count: 83), auth, .p256dh, .notOnCurve),
        (pointNextToTheCurve, auth, .p256dh, .notOnCurve),
        (p256dh, "marked*", .auth, .notBase64),
        (p256dh, "BTBZMqHH6r4Tts7J", .auth, .length(12)),
        (p256dh, "", .auth, .length(0)),
    ])
    func keysThatAreNone(
        _ p256dh: String,
        _ auth: String,
        _ field: SubscriptionKeyError.Field,
        _ reason: SubscriptionKeyError.Reason
    ) {
        let error = #expect(throws: SubscriptionKeyError.self) { try SubscriptionKeys(p256dh: p256dh, auth: auth) }
        #expect(error?.field == field && error?.reason == reason)
        #expect(error?.description.hasPrefix(field.rawValue) == true)
        #expect(error?.description.contains("marked") == false)
    }
}

extension OpenSSL {
    /// HKDF with SHA-256 (RFC 5869).
    fileprivate func hkdf(_ key: [UInt8], salt: [UInt8], info: [UInt8], count: Int) async throws -> [UInt8] {
        try await run([
            "kdf", "-binary", "-keylen", "\(count)", "-kdfopt", "digest:SHA256",
            "-kdfopt", "hexkey:" + hexadecimal(key), "-kdfopt", "hexsalt:" + hexadecimal(salt), "-kdfopt",
            "hexinfo:" + hexadecimal(info), "-out", "derived",
            "HKDF",
        ])
        return try read("derived")
    }
}
