import Foundation
import PushCrypto
import Testing

struct SigningKeyTests {
    let openssl: OpenSSLCommand

    init() throws { openssl = try OpenSSLCommand() }

    @Test func signsES256AsOpenSSLVerifies() throws {
        let key = try SigningKey.load(pemFile: openssl.makeKey("key.p8", p256), expecting: .es256)
        let message = Array("header.claims".utf8)
        // Many times: r and s have leading zeroes, or need a sign byte in DER, only now and then.
        for _ in 0..<20 {
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            try verify(der(fromRaw: signature), of: message, by: "key.p8")
        }
        #expect(try key.sign(message) != key.sign(message))
    }

    @Test func signsRS256AsOpenSSLVerifies() throws {
        let key = try SigningKey.load(pemFile: openssl.makeKey("rsa.pem", rsa2048), expecting: .rs256)
        let message = Array("header.claims".utf8)
        try verify(key.sign(message), of: message, by: "rsa.pem")
    }

    @Test func readsSEC1WithParametersInFront() throws {
        try openssl.run(["ecparam", "-name", "prime256v1", "-genkey", "-out", openssl.path("sec1.pem")])
        try openssl.setMode("sec1.pem", 0o600)
        let key = try SigningKey.load(pemFile: openssl.path("sec1.pem"), expecting: .es256)
        #expect(try key.sign([1, 2, 3]).count == 64)
    }

    @Test func tokenHasThreePartsThatOpenSSLVerifies() throws {
        let key = try SigningKey.load(pemFile: openssl.makeKey("key.p8", p256), expecting: .es256)
        let token = try JSONWebToken.sign(
            header: ["kid": "ABC123DEFG"],
            claims: ["iss": "DEF\"1\n", "iat": 1_700_000_000],
            with: key
        )
        let parts = token.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        #expect(decoded(parts[0]).map { String(decoding: $0, as: UTF8.self) } == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        let claims = try JSONSerialization.jsonObject(with: #require(decoded(parts[1]))) as? [String: Any]
        #expect(claims?["iss"] as? String == "DEF\"1\n")
        #expect(claims?["iat"] as? Int == 1_700_000_000)
        let signature = [UInt8](try #require(decoded(parts[2])))
        try verify(der(fromRaw: signature), of: Array("\(parts[0]).\(parts[1])".utf8), by: "key.p8")
    }

    private func verify(_ signature: [UInt8], of message: [UInt8], by key: String) throws {
        try openssl.write("message", message)
        try openssl.write("signature", signature)
        try openssl.run(["pkey", "-in", key, "-pubout", "-out", "public.pem"])
        try openssl.run(["dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message"])
    }

    private func der(fromRaw raw: [UInt8]) -> [UInt8] {
        let integers = [raw.prefix(32), raw.suffix(32)].map { half in
            var bytes = Array(half.drop { $0 == 0 })
            if bytes.isEmpty || bytes[0] >= 0x80 { bytes.insert(0, at: 0) }
            return [0x02, UInt8(bytes.count)] + bytes
        }
        let content = integers[0] + integers[1]
        return [0x30, UInt8(content.count)] + content
    }

    private func decoded(_ part: String) -> Data? {
        let padded = part + String(repeating: "=", count: (4 - part.count % 4) % 4)
        let standard = padded.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: standard)
    }
}
