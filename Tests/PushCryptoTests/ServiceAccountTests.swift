import Foundation
import PushCrypto
import TestKit
import Testing

struct ServiceAccountTests {
    let openssl: OpenSSL
    let pem: String

    init() async throws {
        openssl = try OpenSSL()
        pem = try await String(contentsOfFile: openssl.makeKey("rsa.pem", rsa2048), encoding: .utf8)
    }

    private func fields() -> [String: Any] {
        [
            "type": "service_account", "project_id": "demo-project", "private_key_id": "marked0key1id",
            "private_key": pem, "client_email": "sender@demo-project.iam.gserviceaccount.com", "client_id": "123",
            "token_uri": "https://oauth2.googleapis.com/token", "universe_domain": "googleapis.com",
        ]
    }

    private func write(_ object: [String: Any]) throws -> String {
        try openssl.write("sa.json", Array(JSONSerialization.data(withJSONObject: object)))
    }

    @Test func assertionIsWhatGoogleAsks() async throws {
        let account = try ServiceAccount.load(jsonFile: write(fields()))
        #expect(account.projectID == "demo-project")
        #expect(account.tokenURI == "https://oauth2.googleapis.com/token")
        let parts = try account.assertion(issuedAt: 1_700_000_000).split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = try #require(Base64URL.decode(parts[0]))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"RS256","typ":"JWT","kid":"marked0key1id"}"#)
        let body = try Data(#require(Base64URL.decode(parts[1])))
        let claims = try JSONSerialization.jsonObject(with: body) as? [String: Any]
        #expect(claims?["iss"] as? String == "sender@demo-project.iam.gserviceaccount.com")
        #expect(claims?["scope"] as? String == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(claims?["aud"] as? String == "https://oauth2.googleapis.com/token")
        #expect(claims?["iat"] as? Int == 1_700_000_000)
        #expect(claims?["exp"] as? Int == 1_700_003_600)
        #expect(claims?.count == 5)
        let signature = try #require(Base64URL.decode(parts[2]))
        try await openssl.verify(signature, of: Array("\(parts[0]).\(parts[1])".utf8), by: "rsa.pem")
    }

    @Test func theKeyIdMayBeMissing() throws {
        var object = fields()
        object["private_key_id"] = nil
        let account = try ServiceAccount.load(jsonFile: write(object))
        let encoded = try account.assertion(issuedAt: 0).prefix { $0 != "." }
        let header = try #require(Base64URL.decode(String(encoded)))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"RS256","typ":"JWT"}"#)
    }

    @Test(arguments: ["type", "project_id", "private_key", "client_email", "token_uri"])
    func whatIsMissingIsNamed(_ name: String) throws {
        var object = fields()
        object[name] = nil
        #expect(try refusal(of: write(object)) == .missingField(name))
        object[name] = 7
        #expect(try refusal(of: write(object)) == .invalidField(name, "must be text"))
        object[name] = ""
        #expect(try refusal(of: write(object)) == .invalidField(name, "is empty"))
    }

    @Test func otherFilesAreRefused() throws {
        #expect(refusal(of: openssl.path("none.json")) == .missing)
        #expect(try refusal(of: openssl.write("a", Array(pem.utf8))) == .notJSON)
        #expect(try refusal(of: openssl.write("b", Array("[1]".utf8))) == .notJSON)
        #expect(try refusal(of: openssl.write("c", [])) == .notJSON)
        #expect(try refusal(of: openssl.write("d", Array("{}".utf8), mode: 0o644)) == .exposed(mode: 0o644))
        var object = fields()
        object["type"] = "authorized_user"
        #expect(try refusal(of: write(object)) == .notAServiceAccount(type: "authorized_user"))
        object = fields()
        object["token_uri"] = "http://oauth2.googleapis.com/token"
        #expect(try refusal(of: write(object)) == .invalidField("token_uri", "must begin with https://"))
    }

    @Test func otherKeysAreRefusedWithTheirPlace() async throws {
        var object = fields()
        object["private_key"] = try await String(contentsOfFile: openssl.makeKey("ec.pem", p256), encoding: .utf8)
        let path = try write(object)
        let error = #expect(throws: KeyError.self) { try ServiceAccount.load(jsonFile: path) }
        #expect(error?.description.hasPrefix("\(path), private_key: this is an EC key; an RSA key") == true)
        object["private_key"] = "marked"
        #expect(try refusal(of: write(object)) == .notPEM)
        object["private_key"] = pem.replacing("\n", with: "\\n")
        #expect(throws: Never.self) { try ServiceAccount.load(jsonFile: write(object)) }
    }

    private func refusal(of path: String) -> KeyError.Reason? {
        do throws(KeyError) {
            _ = try ServiceAccount.load(jsonFile: path)
            return nil
        } catch {
            return error.reason
        }
    }
}
