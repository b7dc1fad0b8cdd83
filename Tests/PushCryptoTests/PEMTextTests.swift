import Foundation
import TestKit
import Testing

@testable import PushCrypto

/// Repairable changes that variables, editors and forms make to a key file.
struct PEMTextTests {
    private static let pem = try? SigningKey.generateES256().privateKeyPEM()

    private func parse(_ text: String) throws -> SigningKey {
        try SigningKey.parse(pem: PEMText.text(text), expecting: .es256, source: "key")
    }

    @Test(
        arguments: [
            { $0 }, { "\u{FEFF}" + $0 }, { $0.replacing("\n", with: "\\n") }, { $0.replacing("\n", with: "\\r\\n") },
            { "\"" + $0.replacing("\n", with: "\\n") + "\"" }, { $0.replacing("\n", with: " ") },
            { $0.replacing("\n", with: "") },
            { $0.replacing("\n", with: "\r") }, { $0.replacing("\n", with: "\r\n") }, { "\n  " + $0 }, { $0 + "\n\n" },
            { "\u{FEFF}\"" + $0.replacing("\n", with: "\\n") + "\"\r\n" },
        ] as [@Sendable (String) -> String]
    )
    func keysAreReadHoweverTheirLinesEnd(change: @Sendable (String) -> String) throws {
        let pem = try #require(Self.pem)
        #expect(try parse(change(pem)).privateKeyPEM() == pem)
    }

    @Test func certificatesBesideAKeyStay() {
        let two = "-----BEGIN A-----\nAAAA\nBBBB\n-----END A-----\n-----BEGIN B-----\nCCCC\n-----END B-----\n"
        #expect(PEMText.repaired(Array(two.utf8)) == nil)
        let line = two.replacing("\n", with: " ")
        let lines = PEMText.text(line)
        #expect(
            String(decoding: lines, as: UTF8.self).split(whereSeparator: \.isWhitespace)
                == two.replacing("AAAA\nBBBB", with: "AAAABBBB").split(whereSeparator: \.isWhitespace)
        )
    }

    @Test func otherFilesAreLeftAlone() {
        for text in [#"{"private_key": "-----BEGIN A-----\nx\n-----END A-----\n"}"#, "secret\\n", "", "-----BEGIN "] {
            #expect(PEMText.repaired(Array(text.utf8)) == nil)
        }
        #expect(PEMText.repaired([0x30, 0x82, 0x0D, 0x0A]) == nil)
        #expect(PEMText.repaired([0xEF, 0xBB, 0xBF] + Array("secret".utf8)) == Array("secret".utf8))
    }

    @Test func aFileWithOneLineIsRead() throws {
        let openssl = try OpenSSL()
        let pem = try #require(Self.pem)
        let path = try openssl.write("key.p8", Array(pem.replacing("\n", with: "\\n").utf8))
        #expect(try SigningKey.load(pemFile: path, expecting: .es256).privateKeyPEM() == pem)
    }
}
