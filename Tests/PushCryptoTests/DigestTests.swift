import PushCrypto
import Testing

struct DigestTests {
    @Test func sha256OfAKnownText() {
        // The example of FIPS 180-4.
        let expected: [UInt8] = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
            0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
        ]
        #expect(sha256(Array("abc".utf8)) == expected)
    }

    @Test func tokenHashIsStableAndShort() {
        #expect(shortHash("abc") == "ba7816bf")
        #expect(shortHash("") == "e3b0c442")
    }

    @Test func randomBytesDiffer() throws {
        let first = try randomBytes(32)
        #expect(first.count == 32)
        #expect(try first != randomBytes(32))
        #expect(try randomBytes(0).isEmpty)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("foobar", "Zm9vYmFy"),
    ])
    func base64URLOfRFC4648Vectors(_ vector: (text: String, encoded: String)) {
        #expect(Base64URL.encode(vector.text.utf8) == vector.encoded)
    }

    @Test func base64URLUsesTheSafeAlphabet() {
        #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
    }

    @Test(arguments: ["Zm9vYg", "Zm9vYg=="])
    func base64URLDecodesWithAndWithoutPadding(_ text: String) {
        #expect(Base64URL.decode(text) == Array("foob".utf8))
    }

    @Test func base64URLDecodesBothAlphabets() {
        #expect(Base64URL.decode("-_-_") == [0xFB, 0xFF, 0xBF])
        #expect(Base64URL.decode("+/+/") == [0xFB, 0xFF, 0xBF])
        #expect(Base64URL.decode("")?.isEmpty == true)
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ count) }
            #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: ["A", "AAAAA", "AA A", "AA\n", "A===", "AA=", "=AAA", "ä", "A*AA"])
    func base64URLRefusesOtherText(_ text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
