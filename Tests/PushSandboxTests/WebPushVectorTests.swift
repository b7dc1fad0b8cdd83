import Foundation
import SandboxCrypto
import Testing

@testable import PushSandbox

/// The vectors of RFC 8291 and RFC 8292, and some derived from them.
struct WebPushVectorTests {
    private static let header =
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"

    private static func subscriber() throws -> Subscriber {
        let key = try #require(Data(base64URL: "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
        let auth = try #require(Data(base64URL: "BTBZMqHH6r4Tts7J_aSIgg"))
        return Subscriber(key: try #require(P256PrivateKey(scalar: Array(key))), auth: auth)
    }

    @Test(arguments: [
        (
            "8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ",
            "When I grow up, I want to be a watermelon"
        ),
        (
            "8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1Vhjkq5_r-A7eYRkLPncUsNI2l7zb2Web9A",
            "When I grow up, I want to be a watermelon"
        ),
        ("p1gPSRS1XkN9hEVCx_GBFHA", ""),
        ("5P3LPA6UmlqJkGTHVhOxc-KR", "A"),
    ])
    func messagesAreDecrypted(records: String, expected: String) throws {
        let body = try #require(Data(base64URL: Self.header[...])) + #require(Data(base64URL: records[...]))
        let message = try #require(EncryptedMessage(body))
        #expect(message.hasValidKey)
        #expect(message.recordSize == 4096)
        #expect(String(decoding: try Self.subscriber().decrypt(message), as: UTF8.self) == expected)
    }

    @Test func damagedMessagesAreNot() throws {
        let records = "8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ"
        var body = Array(try #require(Data(base64URL: Self.header[...])) + #require(Data(base64URL: records[...])))
        body[90] ^= 1
        let damaged = try #require(EncryptedMessage(body))
        #expect(throws: DecryptionFailure.notAuthentic) { try Self.subscriber().decrypt(damaged) }
        body[90] ^= 1
        let short = try #require(EncryptedMessage(body.prefix(86 + 16)))
        #expect(throws: DecryptionFailure.tooShort) { try Self.subscriber().decrypt(short) }
        body[18] = 0
        body[19] = 57
        let several = try #require(EncryptedMessage(body))
        #expect(throws: DecryptionFailure.severalRecords) { try Self.subscriber().decrypt(several) }
        body[20] = 64
        #expect(EncryptedMessage(body) == nil)
        #expect(EncryptedMessage(body.prefix(85)) == nil)
    }

    @Test func theSignedHeaderIsVerified() throws {
        let key = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
        let token =
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3Njgs"
            + "InN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErt"
            + "mysazNjjvW2L9OkSSHzvoD1oA"
        let credential = try VAPIDCredential("vapid t=\(token), k=\(key)")
        #expect(credential.audiences == ["https://push.example.net"])
        #expect(credential.end == 1_453_523_768)
        #expect(credential.subject == "mailto:push@example.com")
        let origin = "https://push.example.net"
        func failure(at now: Int64, origin: String = origin, fingerprint: String? = nil) -> WebPushRejection? {
            credential.failure(origin: origin, fingerprint: fingerprint, service: .apple, now: now)
        }
        #expect(failure(at: 1_453_523_767) == nil)
        #expect(failure(at: 1_453_523_768) == .expiredToken)
        #expect(failure(at: 1_453_523_768 - 86_400) == nil)
        #expect(failure(at: 1_453_523_768 - 86_401) == .badToken)
        #expect(failure(at: 1_453_523_767, origin: origin + ":444") == .badAudience)
        #expect(failure(at: 1_453_523_767, fingerprint: "x") == .keyMismatch)
        // Parameters in any order, with unknown ones.
        #expect(try VAPIDCredential("VAPID x=1,k=\(key),t=\(token)").audiences == credential.audiences)
        let broken = token.dropLast(5) + "AAAAA"
        #expect(throws: WebPushRejection.badToken) { try VAPIDCredential("vapid t=\(broken), k=\(key)") }
    }
}
