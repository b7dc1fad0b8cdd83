import Foundation
import Programs
import PushCrypto
import SandboxCrypto
import Testing

/// The keys and signatures that the simulated services accept; the sender's code signs.
struct KeyTests {
    private static let message = Array("header.claims".utf8)
    /// The order of P-256.
    private static let order = bytes("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    private static let zero = [UInt8](repeating: 0, count: 32)

    @Test func whatTheSenderSignsIsTaken() throws {
        let sender = try SigningKey.generateES256()
        let key = try #require(P256PublicKey(point: sender.publicPoint()))
        // Repeated, because r and s only sometimes have leading zeroes or need a sign byte in DER.
        for _ in 0..<50 {
            let signature = try sender.sign(Self.message)
            #expect(key.hasSigned(Self.message, signature))
            #expect(!key.hasSigned(Self.message + [0], signature))
            #expect(!key.hasSigned(Self.message, ecdsaDER(fromRaw: signature)))
        }
        let stranger = try P256PrivateKey().publicKey
        #expect(try !stranger.hasSigned(Self.message, sender.sign(Self.message)))
    }

    @Test func numbersOutOfRangeSignNothing() throws {
        let sender = try SigningKey.generateES256()
        let key = try #require(P256PublicKey(point: sender.publicPoint()))
        let signature = try sender.sign(Self.message)
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        #expect(key.hasSigned(Self.message, r + s))
        let wrong = [
            Self.zero + s, r + Self.zero, Self.zero + Self.zero, Self.order + s, r + Self.order, s + r, [], r,
            r + s + [0], [0] + r + s, Array((r + s).dropLast()),
        ]
        for signature in wrong { #expect(!key.hasSigned(Self.message, signature)) }
    }

    @Test func onlyPointsOnTheCurveAreKeys() throws {
        let point = try SigningKey.generateES256().publicPoint()
        #expect(P256PublicKey(point: point)?.point == point)
        var off = point
        off[64] ^= 1
        let prime = bytes("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        let wrong: [[UInt8]] = [
            off, [0], [], Array(point.dropLast()), point + [0], [2 + point[64] & 1] + point[1...32],
            [6 + point[64] & 1] + point[1...], [4] + prime + prime, [4] + Self.zero + Self.zero,
        ]
        for point in wrong { #expect(P256PublicKey(point: point) == nil) }
    }

    @Test func privateKeysAreNumbersBelowTheOrder() throws {
        var last = Self.order
        last[31] -= 1
        let one = Array(Self.zero.dropLast()) + [1]
        // The base point of FIPS 186-4 is the public key of 1; the highest private key has the opposite point.
        let x = bytes("6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296")
        let y = bytes("4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
        #expect(P256PrivateKey(scalar: one)?.publicKey.point == [4] + x + y)
        #expect(P256PrivateKey(scalar: last).map { Array($0.publicKey.point.prefix(33)) } == [4] + x)
        for wrong in [Self.zero, Self.order, [UInt8](repeating: 255, count: 32), [0] + one, Array(one.dropFirst()), []]
        {
            #expect(P256PrivateKey(scalar: wrong) == nil)
        }
    }

    /// Section 3.1 and appendix A of RFC 8291.
    @Test func aSecretIsShared() throws {
        func decoded(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }
        let browser = try #require(P256PrivateKey(scalar: decoded("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")))
        let sender = try #require(P256PrivateKey(scalar: decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
        let secret = try decoded("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs")
        #expect(try browser.sharedSecret(with: sender.publicKey) == secret)
        #expect(try sender.sharedSecret(with: browser.publicKey) == secret)
    }

    @Test func filesOfOtherKeysAreRefused() async throws {
        let (p256, rsa) = (try P256PrivateKey(), try RSAKey())
        #expect(try P256PrivateKey(pem: p256.pem())?.publicKey == p256.publicKey)
        #expect(try P256PrivateKey(pem: rsa.pem()) == nil && RSAKey(pem: p256.pem()) == nil)
        let others = [
            ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
            ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], ["-algorithm", "ED25519"],
            ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
            ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes128", "-pass", "pass:secret"],
        ]
        for other in others {
            let command = try await Command.run(["openssl", "genpkey"] + other)
            #expect(command.output.contains("PRIVATE KEY"), "\(command.errors)")
            #expect(P256PrivateKey(pem: command.output) == nil && RSAKey(pem: command.output) == nil)
        }
        for text in ["", "x", try String(p256.pem().dropLast(40))] {
            #expect(P256PrivateKey(pem: text) == nil && RSAKey(pem: text) == nil)
        }
    }

    @Test func rsaSignaturesAreOfTheKeysLength() throws {
        let key = try RSAKey()
        let sender = try SigningKey.parse(pem: Array(key.pem().utf8), expecting: .rs256, source: "key")
        let signature = try sender.sign(Self.message)
        #expect(key.hasSigned(Self.message, signature))
        #expect(!key.hasSigned(Self.message + [0], signature))
        #expect(try !RSAKey().hasSigned(Self.message, signature))
        var damaged = signature
        damaged[100] ^= 1
        for wrong in [damaged, [], Array(signature.dropLast()), signature + [0], [0] + signature] {
            #expect(!key.hasSigned(Self.message, wrong))
        }
    }
}
