import Foundation
import Programs
import PushCrypto

@testable import PushSandbox

/// A client that gets access tokens with the sandbox's service account, and sends through FCM.
struct GoogleClient {
    let account: JSONObject
    let key: SigningKey

    init(_ fixture: SandboxFixture) throws {
        let file = try Data(contentsOf: URL(fileURLWithPath: fixture.sandbox.ready.serviceAccountFile))
        account = JSONParser.parse(file)?.members ?? JSONObject()
        let pem = Array((account["private_key"]?.text ?? "").utf8)
        key = try SigningKey.parse(pem: pem, expecting: .rs256, source: "private_key")
    }

    /// Returns the claims of a valid assertion, with some of them replaced, or removed by null.
    func claims(at now: Int64, _ changes: [String: JSONValue] = [:]) -> JSONValue {
        let good: [(String, JSONValue)] = [
            ("iss", account["client_email"] ?? .null), ("aud", account["token_uri"] ?? .null),
            ("scope", .string("https://www.googleapis.com/auth/firebase.messaging")),
            ("iat", .integer(now)), ("exp", .integer(now + 3600)),
        ]
        var claims = JSONObject()
        for (name, value) in good {
            if case .null = changes[name] ?? value { continue }
            claims.append(name, changes[name] ?? value)
        }
        return .object(claims)
    }

    func assertion(
        header: String = #"{"alg":"RS256","typ":"JWT"}"#,
        _ claims: JSONValue
    ) throws -> String {
        let signed = Self.signed(header, claims)
        return signed + "." + Data(try key.sign(Array(signed.utf8))).base64URL
    }

    /// Returns an assertion with a signature of the wrong kind.
    func assertionByPSS(_ claims: JSONValue) async throws -> String {
        let signed = Self.signed(#"{"alg":"RS256","typ":"JWT"}"#, claims)
        return signed + "." + Data(try await signatureByPSS(Array(signed.utf8))).base64URL
    }

    private static func signed(_ header: String, _ claims: JSONValue) -> String {
        Data(header.utf8).base64URL + "." + Data(claims.json.utf8).base64URL
    }

    /// Signs with the `openssl` command, since Fanfare does not use this algorithm.
    private func signatureByPSS(_ message: [UInt8]) async throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pss-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (keyFile, file) = (folder.path + "/key", folder.path + "/message")
        try key.privateKeyPEM().write(toFile: keyFile, atomically: true, encoding: .utf8)
        try Data(message).write(to: URL(fileURLWithPath: file))
        let options = ["-sha256", "-sigopt", "rsa_padding_mode:pss", "-sign", keyFile, "-out", file + ".signature"]
        let command = try await Command.run(["openssl", "dgst"] + options + [file])
        guard command.status == 0 else { throw POSIXError(.EINVAL) }
        return Array(try Data(contentsOf: URL(fileURLWithPath: file + ".signature")))
    }

    /// Returns a request to the token endpoint.
    func tokenRequest(_ fixture: SandboxFixture, assertion: String) -> TestRequest {
        TestRequest(
            path: "/token",
            headers: [("content-type", "application/x-www-form-urlencoded")],
            body: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion
        )
        .with(authority: "localhost:\(fixture.sandbox.tlsPort)")
    }

    /// Gets an access token with a valid assertion.
    func accessToken(_ fixture: SandboxFixture, by client: PushClient) async throws -> String {
        let assertion = try assertion(claims(at: fixture.clock.seconds))
        let response = try await client.push(tokenRequest(fixture, assertion: assertion))
        return response.json["access_token"]?.text ?? ""
    }
}

extension TestRequest {
    /// Returns a request to FCM that is accepted if the token is valid.
    static func fcm(_ accessToken: String, _ message: String = #"{"token":"dEvIcE:APA91b-1"}"#) -> TestRequest {
        TestRequest(
            path: "/v1/projects/demo-project/messages:send",
            headers: [("authorization", "Bearer \(accessToken)"), ("content-type", "application/json")],
            body: #"{"message":\#(message)}"#
        )
    }
}
