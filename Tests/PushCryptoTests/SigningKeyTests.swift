import Foundation
import PushCrypto
import TestKit
import Testing

struct SigningKeyTests {
    let openssl: OpenSSL

    init() throws { openssl = try OpenSSL() }

    @Test func signsES256AsOpenSSLVerifies() async throws {
        let key = try await SigningKey.load(pemFile: openssl.makeKey("key.p8", p256), expecting: .es256)
        let message = Array("header.claims".utf8)
        // Repeated, because r and s only sometimes have leading zeroes or need a sign byte in DER.
        for _ in 0..<20 {
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            try await openssl.verify(ecdsaDER(fromRaw: signature), of: message, by: "key.p8")
        }
        #expect(try key.sign(message) != key.sign(message))
    }

    @Test func aKeyIsDecodedOnceWhileItIsHeld() throws {
        let texts = try (1...200).map { _ in Array(try SigningKey.generateES256().privateKeyPEM().utf8) }
        let keys = try texts.map { try SigningKey.parse(pem: $0, expecting: .es256, source: "key") }
        for _ in 1...6 {
            for (text, key) in zip(texts, keys) {
                #expect(try SigningKey.parse(pem: text, expecting: .es256, source: "key") === key)
            }
        }
        #expect(throws: KeyError.self) { try SigningKey.parse(pem: texts[0], expecting: .rs256, source: "key") }
    }

    @Test func signsRS256AsOpenSSLVerifies() async throws {
        let key = try await SigningKey.load(pemFile: openssl.makeKey("rsa.pem", rsa2048), expecting: .rs256)
        let message = Array("header.claims".utf8)
        try await openssl.verify(key.sign(message), of: message, by: "rsa.pem")
    }

    @Test func readsSEC1WithParametersInFront() async throws {
        try await openssl.run(["ecparam", "-name", "prime256v1", "-genkey", "-out", openssl.path("sec1.pem")])
        try openssl.setMode("sec1.pem", 0o600)
        let key = try SigningKey.load(pemFile: openssl.path("sec1.pem"), expecting: .es256)
        #expect(try key.sign([1, 2, 3]).count == 64)
    }

    @Test func tokenHasThreePartsThatOpenSSLVerifies() async throws {
        let key = try await SigningKey.load(pemFile: openssl.makeKey("key.p8", p256), expecting: .es256)
        let token = try JSONWebToken.sign(
            header: ["kid": "ABC123DEFG"],
            claims: ["iss": "DEF\"1\n", "iat": 1_700_000_000],
            with: key
        )
        let parts = token.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let head = try #require(Base64URL.decode(parts[0]))
        #expect(String(decoding: head, as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        let body = try Data(#require(Base64URL.decode(parts[1])))
        let claims = try JSONSerialization.jsonObject(with: body) as? [String: Any]
        #expect(claims?["iss"] as? String == "DEF\"1\n")
        #expect(claims?["iat"] as? Int == 1_700_000_000)
        let signature = try #require(Base64URL.decode(parts[2]))
        try await openssl.verify(ecdsaDER(fromRaw: signature), of: Array("\(parts[0]).\(parts[1])".utf8), by: "key.p8")
    }
}
