import Foundation
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct OAuthTests {
    @Test func anAssertionOfTheServiceAccountGetsAToken() async throws {
        try await withSandbox { fixture in
            let google = try GoogleClient(fixture)
            #expect(google.account["token_uri"]?.text == "https://localhost:\(fixture.sandbox.tlsPort)/token")
            #expect(google.account["project_id"]?.text == "demo-project")
            let client = try await fixture.connect()
            let assertion = try google.assertion(google.claims(at: fixture.clock.seconds))
            let response = try await client.push(google.tokenRequest(fixture, assertion: assertion))
            #expect(response.status == 200)
            #expect(response.json["token_type"]?.text == "Bearer")
            #expect(response.json["expires_in"]?.json == "3599")
            let token = try #require(response.json["access_token"]?.text)
            #expect(try await client.push(.fcm(token)).status == 200)

            let lines = try await fixture.sandbox.received(after: 0)
            #expect(lines.map(\.provider) == ["oauth", "fcm"])
            let shown = try #require(lines.first?.body)
            #expect(shown.contains(#""scope":"https://www.googleapis.com/auth/firebase.messaging""#))
            #expect(!shown.contains(assertion.split(separator: ".")[2]), "the ledger is not a way to get a token")
            #expect(lines.first?.target == google.account["client_email"]?.text)
            #expect(fixture.sandbox.counts.distinctTokens == 1, "a token request is not a push")
            await client.close()
        }
    }

    @Test func everyMistakeIsRefused() async throws {
        try await withSandbox { fixture in
            let google = try GoogleClient(fixture)
            let now = fixture.clock.seconds
            func claims(_ changes: [String: JSONValue]) -> JSONValue { google.claims(at: now, changes) }
            let good = google.claims(at: now)
            var cases: [(name: String, code: String, assertion: String)] = [
                ("garbage", "invalid_grant", "a.b"),
                ("other algorithm", "invalid_grant", try google.assertion(header: #"{"alg":"HS256"}"#, good)),
                ("other key id", "invalid_grant", try google.assertion(header: #"{"alg":"RS256","kid":"x"}"#, good)),
                ("PSS", "invalid_grant", try await google.assertionByPSS(good)),
            ]
            let wrong: [(String, String, [String: JSONValue])] = [
                ("other account", "invalid_grant", ["iss": .string("x@demo-project.iam.gserviceaccount.com")]),
                ("other audience", "invalid_grant", ["aud": .string("https://example.com/token")]),
                ("too long", "invalid_grant", ["exp": .integer(now + 3601)]),
                ("expired", "invalid_grant", ["iat": .integer(now - 4000), "exp": .integer(now - 400)]),
                ("of the future", "invalid_grant", ["iat": .integer(now + 400), "exp": .integer(now + 900)]),
                ("no time", "invalid_grant", ["iat": .null]),
                ("other scope", "invalid_scope", ["scope": .string("https://www.googleapis.com/auth/drive")]),
                ("no scope", "invalid_scope", ["scope": .null]),
            ]
            for (name, code, changes) in wrong {
                cases.append((name, code, try google.assertion(claims(changes))))
            }
            let client = try await fixture.connect()
            for (name, code, assertion) in cases {
                let response = try await client.push(google.tokenRequest(fixture, assertion: assertion))
                #expect(response.status == 400, "\(name)")
                #expect(response.json["error"]?.text == code, "\(name)")
                #expect(response.json["error_description"]?.text?.isEmpty == false, "\(name)")
            }
            await client.close()
        }
    }

    @Test func clocksMayDifferALittle() async throws {
        try await withSandbox { fixture in
            let google = try GoogleClient(fixture)
            let client = try await fixture.connect()
            for skew in [-200, 200] as [Int64] {
                let assertion = try google.assertion(google.claims(at: fixture.clock.seconds + skew))
                #expect(try await client.push(google.tokenRequest(fixture, assertion: assertion)).status == 200)
            }
            let several = JSONValue.string("openid https://www.googleapis.com/auth/cloud-provider")
            let assertion = try google.assertion(google.claims(at: fixture.clock.seconds, ["scope": several]))
            #expect(try await client.push(google.tokenRequest(fixture, assertion: assertion)).status == 200)
            await client.close()
        }
    }

    @Test func theFormHasToBeOne() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let good = try GoogleClient(fixture).tokenRequest(fixture, assertion: "x")
            let cases = [
                (good.with("content-type", "application/json"), 400, "unsupported_grant_type"),
                (good.with(body: "grant_type=password&assertion=x"), 400, "unsupported_grant_type"),
                (good.with(body: String(good.body.prefix { $0 != "&" })), 400, "invalid_request"),
            ]
            for (request, status, code) in cases {
                let response = try await client.push(request)
                #expect(response.status == status)
                #expect(response.json["error"]?.text == code)
            }
            #expect(try await client.push(good.with(method: "GET").with(body: "")).status == 404)
            await client.close()
        }
    }

    @Test func tokensMayEndEarlyAndTheServiceMayFail() async throws {
        try await withSandbox {
            $0.accessTokenLifetime = 60
        } _: { fixture in
            let google = try GoogleClient(fixture)
            let client = try await fixture.connect()
            let token = try await google.accessToken(fixture, by: client)
            fixture.clock.advance(seconds: 59)
            #expect(try await client.push(.fcm(token)).status == 200)
            fixture.clock.advance(seconds: 1)
            let expired = try await client.push(.fcm(token))
            #expect(expired.status == 401)
            #expect(expired.json["error"]?.members?["status"]?.text == "UNAUTHENTICATED")
            #expect(expired.json["error"]?.members?["details"] == nil, "it is not FCM that refuses")

            try fixture.faults(
                #"""
                [{"do": "status", "provider": "oauth", "reason": "invalid_grant", "total": 1},
                 {"do": "status", "provider": "oauth", "status": 503, "retry_after": 7}]
                """#
            )
            let assertion = try google.assertion(google.claims(at: fixture.clock.seconds))
            let revoked = try await client.push(google.tokenRequest(fixture, assertion: assertion))
            #expect((revoked.status, revoked.json["error"]?.text) == (400, "invalid_grant"))
            let down = try await client.push(google.tokenRequest(fixture, assertion: assertion))
            #expect((down.status, down.header("retry-after")) == (503, "7"))
            #expect(down.header("content-type")?.hasPrefix("text/html") == true)
            await client.close()
        }
    }

    @Test func faultsThatNameNoProviderAreAboutPushes() async throws {
        try await withSandbox { fixture in
            try fixture.faults(#"[{"do": "status", "status": 503}]"#)
            let client = try await fixture.connect()
            let token = try await GoogleClient(fixture).accessToken(fixture, by: client)
            #expect(!token.isEmpty)
            #expect(try await client.push(.fcm(token)).status == 503)
            await client.close()
        }
    }
}
