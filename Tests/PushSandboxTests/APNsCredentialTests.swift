import PushCrypto
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct APNsCredentialTests {
    @Test func malformedAndForeignTokensAreInvalid() async throws {
        try await withSandbox { fixture in
            let now = fixture.clock.seconds
            let credential = try fixture.credential()
            var stranger = credential
            stranger.key = try SigningKey.generateES256()
            let claims = #"{"iss":"SIMTEAM001","iat":\#(now)}"#
            let cases: [(String, String)] = [
                ("garbage", "bearer a.b.c"),
                ("two parts", "bearer a.b"),
                (
                    "other key id",
                    try credential.authorization(header: #"{"alg":"ES256","kid":"OTHERKEY01"}"#, claims: claims)
                ),
                (
                    "other algorithm",
                    try credential.authorization(header: #"{"alg":"HS256","kid":"SIMKEY0001"}"#, claims: claims)
                ),
                ("no key id", try credential.authorization(header: #"{"alg":"ES256"}"#, claims: claims)),
                ("other team", try credential.authorization(claims: #"{"iss":"OTHERTEAM1","iat":\#(now)}"#)),
                ("no time", try credential.authorization(claims: #"{"iss":"SIMTEAM001"}"#)),
                ("milliseconds", try credential.authorization(claims: #"{"iss":"SIMTEAM001","iat":\#(now * 1000)}"#)),
                ("DER signature", try credential.authorization(claims: claims, der: true)),
                ("another key's signature", try stranger.authorization(at: now)),
                ("padded", try credential.authorization(at: now) + "="),
            ]
            let client = try await fixture.connect()
            for (name, authorization) in cases {
                let response = try await client.push(TestRequest(authorization: authorization))
                #expect(response.status == 403, "\(name)")
                #expect(response.reason == "InvalidProviderToken", "\(name)")
            }
            await client.close()
        }
    }

    @Test func theTimeMayBeANumberInQuotes() async throws {
        try await withSandbox { fixture in
            let claims = #"{"iss":"SIMTEAM001","iat":"\#(fixture.clock.seconds)"}"#
            let client = try await fixture.connect()
            let authorization = try fixture.credential().authorization(claims: claims)
            #expect(try await client.push(TestRequest(authorization: authorization)).status == 200)
            await client.close()
        }
    }

    @Test func aTokenExpiresAfterAnHourAlsoOnAConnectionThatKnowsIt() async throws {
        try await withSandbox { fixture in
            let request = try fixture.request()
            let client = try await fixture.connect()
            #expect(try await client.push(request).status == 200)
            fixture.clock.advance(seconds: 3599)
            #expect(try await client.push(request).status == 200)
            fixture.clock.advance(seconds: 1)
            #expect(try await client.push(request).reason == "ExpiredProviderToken")
            let other = try await fixture.connect()
            #expect(try await other.push(request).reason == "ExpiredProviderToken")
            // The renewed token is accepted on the same connection.
            #expect(try await client.push(fixture.request()).status == 200)
            await client.close()
            await other.close()
        }
    }

    @Test func aSecondTokenWithinTwentyMinutesIsOneTooMany() async throws {
        try await withSandbox { fixture in
            let first = try fixture.request()
            let client = try await fixture.connect()
            #expect(try await client.push(first).status == 200)
            fixture.clock.advance(seconds: 1199)
            let early = try fixture.request()
            let refused = try await client.push(early)
            #expect(refused.status == 429)
            #expect(refused.reason == "TooManyProviderTokenUpdates")
            #expect(try await client.push(first).status == 200, "the old token stays good")
            let fresh = try await fixture.connect()
            #expect(try await fresh.push(early).status == 200, "the rule is about one connection")
            fixture.clock.advance(seconds: 1)
            #expect(try await client.push(fixture.request()).status == 200)
            await client.close()
            await fresh.close()
        }
    }

    @Test func anOldTokenMayBeReplacedSoonAfterItsConnectionOpened() async throws {
        try await withSandbox { fixture in
            let old = try fixture.request()
            fixture.clock.advance(seconds: 3000)
            let client = try await fixture.connect()
            #expect(try await client.push(old).status == 200)
            fixture.clock.advance(seconds: 10)
            #expect(try await client.push(fixture.request()).status == 200)
            await client.close()
        }
    }
}
