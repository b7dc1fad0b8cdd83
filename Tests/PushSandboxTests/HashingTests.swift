import Foundation
import SandboxCrypto
import Testing

@testable import PushSandbox

/// Hashes, codes and encryption, with the examples of the standards.
struct HashingTests {
    @Test func hashesAndCodesAreThoseOfTheStandards() throws {
        // FIPS 180-4, and the second test of RFC 4231.
        #expect(Hashing.hash("abc".utf8) == bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        let (key, text) = ("Jefe".utf8, "what do ya want for nothing?".utf8)
        let code = bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        #expect(Hashing.code(of: text, key: key) == code)
        #expect(Hashing.isCode(code, of: text, key: key))
        for wrong in [[], Array(code.dropLast()), code + [0], code.map { $0 ^ 1 }] {
            #expect(!Hashing.isCode(wrong, of: text, key: key))
        }
        // The first test of RFC 5869.
        let derived = try Hashing.derive(
            42,
            from: [UInt8](repeating: 0x0b, count: 22),
            salt: bytes("000102030405060708090a0b0c"),
            info: bytes("f0f1f2f3f4f5f6f7f8f9")
        )
        #expect(
            derived
                == bytes("3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
        )
    }

    @Test func onlyWhatIsWholeIsDecrypted() {
        // Test case 2 of the cipher's first specification.
        let zeroes = [UInt8](repeating: 0, count: 16)
        let nonce = Array(zeroes.prefix(12))
        let sealed = bytes("0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf")
        #expect(AES128GCM.open(sealed, key: zeroes, nonce: nonce) == zeroes)
        for index in sealed.indices {
            var damaged = sealed
            damaged[index] ^= 1
            #expect(AES128GCM.open(damaged, key: zeroes, nonce: nonce) == nil)
        }
        for count in 0..<sealed.count {
            #expect(AES128GCM.open(sealed.prefix(count), key: zeroes, nonce: nonce) == nil)
        }
        #expect(AES128GCM.open(sealed, key: zeroes, nonce: Array(nonce.dropLast())) == nil)
        #expect(AES128GCM.open(sealed, key: Array(zeroes.dropLast()), nonce: nonce) == nil)
    }
}

/// Returns the bytes of hexadecimal digits.
func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = Array(hexadecimal)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
}
