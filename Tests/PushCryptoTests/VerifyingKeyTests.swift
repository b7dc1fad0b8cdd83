import Foundation
import TestKit
import Testing

@testable import PushCrypto

/// The signatures that are accepted, from the examples of RFCs and from the `openssl` command.
struct VerifyingKeyTests {
    private static let message = Array("header.claims".utf8)
    /// The upper bound of P-256's private keys.
    private static let order = bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
    }

    @Test func theExampleOfRFC7515IsTaken() throws {
        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let signed =
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290"
            + "Ijp0cnVlfQ"
        let text = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        let signature = try #require(Base64URL.decode(text))
        let key = try #require(VerifyingKey.p256([4] + x + y))
        #expect(key.hasSigned(Array(signed.utf8), signature))
        #expect(!key.hasSigned(Array(signed.utf8) + [0], signature))
        #expect(!key.hasSigned(Array(signed.utf8), Array(signature[32...] + signature[..<32])))
    }

    /// The second test of RFC 8032 section 7.1.
    @Test func theExampleOfRFC8032IsTaken() throws {
        let key = try #require(
            VerifyingKey.ed25519(Self.bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"))
        )
        let signature = Self.bytes(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        )
        #expect(key.hasSigned([0x72], signature))
        #expect(!key.hasSigned([0x73], signature) && !key.hasSigned([], signature))
        #expect(!key.hasSigned([0x72], Array(signature.dropLast())) && !key.hasSigned([0x72], signature + [0]))
        // The same number plus the order of the group: another encoding of the same signature.
        let order = Self.bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var carry = 0
        let twin = zip(signature[32...], order).map { digit, added in
            carry += Int(digit) + Int(added)
            defer { carry >>= 8 }
            return UInt8(carry & 255)
        }
        #expect(!key.hasSigned([0x72], signature[..<32] + twin))
    }

    @Test func whatTheCommandSignsIsTaken() async throws {
        let openssl = try OpenSSL()
        try openssl.write("message", Self.message)
        let p256Key = try await SigningKey.load(pemFile: openssl.makeKey("p256.pem", p256), expecting: .es256)
        let es256 = try #require(VerifyingKey.p256(p256Key.publicPoint()))
        // Repeated, because r and s only sometimes have leading zeroes or a sign byte in DER.
        for _ in 0..<20 {
            try await openssl.run(["dgst", "-sha256", "-sign", "p256.pem", "-out", "signature", "message"])
            let der = try openssl.read("signature")
            #expect(es256.hasSigned(Self.message, raw(fromDER: der)))
            #expect(!es256.hasSigned(Self.message, der))
            #expect(!es256.hasSigned(Self.message + [1], raw(fromDER: der)))
        }
        try await openssl.makeKey("ed25519.pem", ["-algorithm", "ED25519"])
        let info = try await openssl.output(["pkey", "-in", "ed25519.pem", "-pubout", "-outform", "DER", "-out"])
        let edDSA = try #require(VerifyingKey.ed25519(info.suffix(32)))
        let signature = try await openssl.output(
            ["pkeyutl", "-sign", "-rawin", "-inkey", "ed25519.pem", "-in", "message", "-out"]
        )
        #expect(edDSA.hasSigned(Self.message, signature))
        #expect(!edDSA.hasSigned(Self.message + [1], signature) && !es256.hasSigned(Self.message, signature))
    }

    @Test func numbersOutOfRangeSignNothing() throws {
        let key = try SigningKey.generateES256()
        let verifying = try #require(VerifyingKey.p256(key.publicPoint()))
        let signature = try key.sign(Self.message)
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        #expect(verifying.hasSigned(Self.message, r + s))
        let zero = [UInt8](repeating: 0, count: 32)
        for wrong in [zero + s, r + zero, zero + zero, Self.order + s, r + Self.order, Self.order + Self.order] {
            #expect(!verifying.hasSigned(Self.message, wrong))
        }
        for wrong in [[], r, r + s + [0], [0] + r + s, Array((r + s).dropLast())] {
            #expect(!verifying.hasSigned(Self.message, wrong))
        }
    }

    @Test func onlyPointsOnTheCurveAreKeys() throws {
        let point = try SigningKey.generateES256().publicPoint()
        #expect(VerifyingKey.p256(point) != nil)
        var off = point
        off[64] ^= 1
        let prime = Self.bytes("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        let compressed = [2 + point[64] & 1] + point[1...32]
        let hybrid = [6 + point[64] & 1] + point[1...]
        for wrong in [off, [0], [], Array(point.dropLast()), point + [0], compressed, hybrid, [4] + prime + prime] {
            #expect(VerifyingKey.p256(wrong) == nil)
        }
        for count in [0, 31, 33] { #expect(VerifyingKey.ed25519([UInt8](repeating: 7, count: count)) == nil) }
        // y = 2 is not a point of the curve: the key can be created, but verifies no signature.
        let none = VerifyingKey.ed25519([2] + [UInt8](repeating: 0, count: 31))
        #expect(none?.hasSigned(Self.message, [UInt8](repeating: 0, count: 64)) != true)
    }

    /// The second test of RFC 4231.
    @Test func codesAreCompared() throws {
        let (key, text) = (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        let code = Self.bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let hmac = try HMACSHA256.open()
        #expect(try hmac.isCode(code, key: key, text))
        #expect(try !hmac.isCode(code, key: key + [1], text))
        #expect(try !hmac.isCode(code, key: key, text + [1]))
        #expect(try !hmac.isCode(Array(code.dropLast()), key: key, text))
        #expect(try !hmac.isCode(code + [0], key: key, text))
        #expect(try !hmac.isCode([], key: key, text))
    }

    /// Returns r and s of a DER signature, in 32 bytes each.
    private func raw(fromDER der: [UInt8]) -> [UInt8] {
        var rest = der.dropFirst(2)
        var raw: [UInt8] = []
        while rest.count > 2 {
            let digits = rest.dropFirst(2).prefix(Int(rest[rest.startIndex + 1]))
            rest = rest.dropFirst(2 + digits.count)
            let number = digits.drop { $0 == 0 }
            raw += [UInt8](repeating: 0, count: 32 - number.count) + number
        }
        return raw
    }
}
