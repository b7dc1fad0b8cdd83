import Foundation
import PushCrypto
import TestKit
import Testing

struct VAPIDKeyTests {
    let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    @Test func authorizationIsWhatRFC8292Asks() async throws {
        let key = try VAPIDKey.generate()
        let value = try key.authorization(
            origin: "https://push.example.net",
            subject: "mailto:push@example.com",
            issuedAt: 1_453_480_568
        )
        let parts = try #require(value.wholeMatch(of: /vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)/)).output
        let header = try #require(Base64URL.decode(String(parts.1)))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"ES256","typ":"JWT"}"#)
        let claims = try #require(Base64URL.decode(String(parts.2)))
        // 12 hours later; the claims of RFC 8292 section 2.4.
        let expected = #"{"aud":"https://push.example.net","exp":1453523768,"sub":"mailto:push@example.com"}"#
        #expect(String(decoding: claims, as: UTF8.self) == expected)
        #expect(key.publicKey == parts.4)
        let point = try #require(Base64URL.decode(key.publicKey))
        #expect(point.count == 65 && point[0] == 4)
        try await openssl.writePublicKey("public.pem", point: point)
        let signature = try #require(Base64URL.decode(String(parts.3)))
        let message = Array("\(parts.1).\(parts.2)".utf8)
        try await openssl.verify(ecdsaDER(fromRaw: signature), of: message, byPublic: "public.pem")
    }

    @Test func aWrittenKeyIsItsOwnersAndReplacesNothing() throws {
        let key = try VAPIDKey.generate()
        let path = openssl.path("new.pem")
        try key.write(pemFile: path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        #expect(try VAPIDKey.load(pemFile: path).publicKey == key.publicKey)
        let other = try VAPIDKey.generate()
        let refusal = #expect(throws: KeyError.self) { try other.write(pemFile: path) }
        #expect(refusal?.reason == .exists)
        #expect(refusal?.description.hasPrefix("\(path): is there already") == true)
        try FileManager.default.createSymbolicLink(atPath: openssl.path("link"), withDestinationPath: "target")
        #expect(throws: KeyError.self) { try other.write(pemFile: openssl.path("link")) }
        #expect(!FileManager.default.fileExists(atPath: openssl.path("target")))
        let nowhere = #expect(throws: KeyError.self) { try other.write(pemFile: path + "/new.pem") }
        #expect(nowhere?.reason == .unwritable("Not a directory"))
        #expect(try VAPIDKey.load(pemFile: path).publicKey == key.publicKey)
    }

    @Test func aGeneratedKeyIsTheSameAfterReading() async throws {
        let key = try VAPIDKey.generate()
        let path = try openssl.write("vapid.pem", Array(key.privateKeyPEM().utf8))
        #expect(try VAPIDKey.load(pemFile: path).publicKey == key.publicKey)
        #expect(try VAPIDKey.generate().publicKey != key.publicKey)
        try await openssl.run(["pkey", "-in", "vapid.pem", "-check", "-noout"])
        #expect(try key.privateKeyPEM().hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    }

    /// A point that is compressed in the file is still returned uncompressed.
    @Test func compressedKeysAreGivenWhole() async throws {
        let options = ["-name", "prime256v1", "-genkey", "-noout", "-conv_form", "compressed", "-out", "c.pem"]
        try await openssl.run(["ecparam"] + options)
        try openssl.setMode("c.pem", 0o600)
        let point = try #require(Base64URL.decode(VAPIDKey.load(pemFile: openssl.path("c.pem")).publicKey))
        #expect(point.count == 65 && point[0] == 4)
    }

    @Test func otherKeysAreRefused() async throws {
        let rsa = try await openssl.makeKey("rsa", rsa2048)
        let error = #expect(throws: KeyError.self) { try VAPIDKey.load(pemFile: rsa) }
        #expect(error?.description.contains("this is an RSA key; an EC P-256 key") == true)
    }
}
