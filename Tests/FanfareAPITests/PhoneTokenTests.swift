import FanfareCore
import PushCrypto
import Testing

@testable import FanfareAPI

/// Tests of the tokens and keys that are accepted, with a fixed clock.
@Suite struct PhoneTokenTests {
    private static let now: Int64 = 1_800_000_000
    private static let forge = TokenForge()

    private func subject(_ token: String, _ keySet: String? = nil, issuer: String? = nil) throws -> String {
        let keys = try PhoneKeySet(parsing: Array((keySet ?? Self.forge.keySet).utf8))
        return try PhoneToken(audience: "shop", issuer: issuer).subject(of: token, by: keys, now: Self.now)
    }

    private func refusal(_ token: String, _ keySet: String? = nil, issuer: String? = nil) -> String? {
        do {
            _ = try subject(token, keySet, issuer: issuer)
            return nil
        } catch {
            return (error as? PhoneToken.Fault)?.reason ?? "\(error)"
        }
    }

    @Test func eachKindOfKeySigns() throws {
        let forge = Self.forge
        let claims = TokenForge.claims("ann", now: Self.now)
        let signers: [(String, String, TokenForge.Signer)] = [
            ("HS256", "h", .secret(forge.secret)), ("ES256", "e", .p256(forge.p256)),
            ("EdDSA", "o", .ed25519(forge.ed25519)),
        ]
        for (algorithm, id, signer) in signers {
            let header = #"{"typ": "JWT", "alg": "\#(algorithm)", "kid": "\#(id)"}"#
            #expect(try subject(TokenForge.token(header, claims, signer)) == "ann")
            // The same key id, signed with another key.
            for (_, _, other) in signers where "\(other)" != "\(signer)" {
                #expect(refusal(TokenForge.token(header, claims, other)) == "is not signed by its key")
            }
            for other in ["HS256", "ES256", "EdDSA", "none", "None", "RS256", "hs256", ""] where other != algorithm {
                let header = #"{"alg": "\#(other)", "kid": "\#(id)"}"#
                #expect(refusal(TokenForge.token(header, claims, signer)) == "has another alg than its key", "\(other)")
            }
        }
        // A single key needs no id.
        let alone = TokenForge.token(#"{"alg": "HS256"}"#, claims, .secret(forge.secret))
        #expect(try subject(alone, #"{"keys": [\#(forge.secretKey)]}"#) == "ann")
        #expect(refusal(alone) == "has no kid, and there are several keys")
    }

    @Test func aPublicKeyIsNoSecret() throws {
        let forge = Self.forge
        let claims = TokenForge.claims("ann", now: Self.now)
        let points = [
            forge.point, Array(forge.point.dropFirst()), forge.pointDER, Array(forge.pointPEM.utf8),
        ]
        for point in points {
            for header in [#"{"alg": "HS256", "kid": "e"}"#, #"{"alg": "ES256", "kid": "e"}"#] {
                #expect(refusal(TokenForge.token(header, claims, .secret(point))) != nil)
            }
        }
    }

    @Test(arguments: [
        (#""alg": "HS256", "kid": "h", "crit": ["exp"]"#, "more in its header"),
        (#""alg": "HS256", "kid": "h", "jku": "https://evil.example/keys""#, "more in its header"),
        (#""alg": "HS256", "kid": "h", "x5u": "https://evil.example/c.pem""#, "more in its header"),
        (#""alg": "HS256", "kid": "h", "jwk": {"kty": "oct", "k": "AAAA"}"#, "more in its header"),
        (#""alg": "HS256", "kid": "h", "b64": false"#, "more in its header"),
        (#""alg": "HS256", "kid": "h", "typ": "at+jwt""#, "another typ"),
        (#""alg": "HS256", "kid": "h", "alg": "HS256""#, "not a JSON object"),
        (#""alg": "HS256", "kid": "../../etc/passwd""#, "no key of the app"),
        (#""alg": "HS256", "kid": ["h"]"#, "not a string"),
        (#""alg": ["HS256"], "kid": "h""#, "another alg"),
        (#""kid": "h""#, "another alg"),
    ])
    func aHeaderSaysNothingElse(header: String, reason: String) {
        let claims = TokenForge.claims("ann", now: Self.now)
        let token = TokenForge.token("{\(header)}", claims, .secret(Self.forge.secret))
        #expect(refusal(token)?.contains(reason) == true, "\(refusal(token) ?? "taken")")
    }

    @Test(
        arguments: [
            (#""exp": 1800000060"#, nil), (#""exp": 1799999941"#, nil), (#""exp": 1799999940"#, "has expired"),
            (#""exp": 1800086460"#, nil), (#""exp": 1800086461"#, "more than 24 hours"), (#""iat": 1"#, "has no exp"),
            (#""exp": "1800000060""#, "not a time"), (#""exp": null"#, "not a time"), (#""exp": 1e400"#, "not a time"),
            (#""exp": 1800000060.5"#, nil), (#""exp": -1"#, "not a time"),
            (#""exp": 1800000900, "nbf": 1800000060"#, nil),
            (#""exp": 1800000900, "nbf": 1800000061"#, "not valid yet"),
            (#""exp": 1800000900, "iat": 1800000061"#, "in the future"), (#""exp": 1800000900, "iat": 1"#, nil),
        ] as [(String, String?)]
    )
    func timesAreKept(times: String, reason: String?) {
        let token = TokenForge.token(
            #"{"alg": "HS256", "kid": "h"}"#,
            #"{"sub": "ann", "aud": "shop", \#(times)}"#,
            .secret(Self.forge.secret)
        )
        let found = refusal(token)
        #expect(found == reason || found?.contains(reason ?? "taken") == true, "\(found ?? "taken")")
    }

    @Test(
        arguments: [
            (#""sub": "ann", "aud": "shop""#, nil), (#""sub": "ann", "aud": ["x", "shop"]"#, nil),
            (#""sub": "ann", "aud": "fanfare2""#, "another audience"),
            (#""sub": "ann", "aud": []"#, "another audience"),
            (#""sub": "ann""#, "another audience"), (#""sub": "ann", "aud": {"a": "shop"}"#, "another audience"),
            (#""aud": "shop""#, "has no sub"), (#""sub": "", "aud": "shop""#, "has no sub"),
            (#""sub": 7, "aud": "shop""#, "has no sub"), (#""sub": "a\u0000b", "aud": "shop""#, "has no sub"),
            (#""sub": "ann", "sub": "bob", "aud": "shop""#, "not a JSON object"),
        ] as [(String, String?)]
    )
    func whoAndWhereAreTold(claims: String, reason: String?) {
        let token = TokenForge.token(
            #"{"alg": "HS256", "kid": "h"}"#,
            #"{"exp": 1800000900, \#(claims)}"#,
            .secret(Self.forge.secret)
        )
        let found = refusal(token)
        #expect(found == reason || found?.contains(reason ?? "taken") == true, "\(found ?? "taken")")
    }

    @Test func anIssuerIsAskedForWhereOneIsNamed() {
        let header = #"{"alg": "HS256", "kid": "h"}"#
        let claims = TokenForge.claims("ann", #""iss": "shop""#, now: Self.now)
        let token = TokenForge.token(header, claims, .secret(Self.forge.secret))
        #expect(refusal(token, issuer: "shop") == nil)
        #expect(refusal(token, issuer: "bank") == "has another issuer (iss)")
        #expect(refusal(Self.forge.token("ann", now: Self.now), issuer: "shop") == "has another issuer (iss)")
    }

    @Test func bytesAreWrittenInOneWayOnly() throws {
        let good = Self.forge.token("ann", now: Self.now)
        let parts = good.split(separator: ".").map(String.init)
        #expect(refusal(good) == nil)
        // The last base64url digit of 32 bytes has two unused bits.
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        let last = try #require(parts[2].last.flatMap(alphabet.firstIndex))
        let twin = String(parts[2].dropLast()) + String(alphabet[alphabet.index(after: last)])
        for token in [
            "\(parts[0]).\(parts[1]).\(parts[2])=", "\(parts[0]).\(parts[1]).\(twin)", "\(parts[0]).\(parts[1]).",
            "\(parts[0])=.\(parts[1]).\(parts[2])", "\(parts[0]).\(parts[2]).\(parts[1])", "..", "\(good).x",
            String(good.dropFirst()), good + String(repeating: "A", count: 5000),
        ] {
            #expect(refusal(token) != nil, "\(token)")
        }
    }
}

/// Tests of the key sets that are accepted.
@Suite struct PhoneKeySetTests {
    private static let forge = TokenForge()

    private func refusal(_ keySet: String) -> String? {
        do throws(PhoneKeyError) {
            _ = try PhoneKeySet(parsing: Array(keySet.utf8))
            return nil
        } catch {
            #expect(!error.mend.isEmpty)
            return error.reason
        }
    }

    @Test(arguments: [
        ("{}", "no list"), ("[", "not JSON"), (#"{"keys": []}"#, "0 keys"), (#"{"keys": [7]}"#, "not an object"),
        (#"{"keys": [{"kty": "oct", "k": "c2hvcnQ"}]}"#, "weak"),
        (#"{"keys": [{"kty": "oct", "k": "\#(String(repeating: "A", count: 43))"}]}"#, "weak"),
        (#"{"keys": [{"kty": "oct", "k": "!"}]}"#, "base64url"), (#"{"keys": [{"kty": "oct"}]}"#, "base64url"),
        (#"{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}"#, "RSA"), (#"{"keys": [{"kty": "X"}]}"#, "kty"),
        (#"{"keys": [{"kty": "EC", "crv": "P-384", "x": "AA", "y": "AA"}]}"#, "another curve"),
        (#"{"keys": [{"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"}]}"#, "another curve"),
        (#"{"keys": [{"kty": "OKP", "crv": "X25519", "x": "AA"}]}"#, "another curve"),
        (#"{"keys": [{"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}]}"#, "not a point"),
    ])
    func whatIsNoKeyIsRefused(keySet: String, reason: String) {
        #expect(refusal(keySet)?.contains(reason) == true, "\(refusal(keySet) ?? "taken")")
    }

    @Test func whatIsWeakOrForSomethingElseIsRefused() {
        let (h, e, o) = (Self.forge.secretKey, Self.forge.p256Key, Self.forge.ed25519Key)
        #expect(refusal(#"{"keys": [\#(h), \#(e), \#(o)]}"#) == nil)
        let wrong: [(String, String)] = [
            (h.replacing(#""kid""#, with: #""use": "enc", "kid""#), "not for signatures"),
            (h.replacing(#""kid""#, with: #""key_ops": ["encrypt"], "kid""#), "not for signatures"),
            (h.replacing(#""kid""#, with: #""alg": "HS512", "kid""#), "alg"),
            (h.replacing(#""kid""#, with: #""alg": "none", "kid""#), "alg"),
            (e.replacing("ES256", with: "HS256"), "alg"),
            (e.replacing(#""use""#, with: #""d": "AAAA", "use""#), "private"),
            (o.replacing(#""key_ops""#, with: #""d": "AAAA", "key_ops""#), "private"),
            (e.replacing(#""x": ""#, with: #""x": "A"#), "not a point"),
            (h.replacing(#""h""#, with: #""""#), "kid"), (h.replacing(#""h""#, with: "7"), "kid"),
            ("\(h), \(e.replacing(#""e""#, with: #""h""#))", "same kid"),
            ("\(h), \(e.replacing(#""kid": "e", "#, with: ""))", "not each has a kid"),
        ]
        for (keys, reason) in wrong {
            let found = refusal(#"{"keys": [\#(keys)]}"#)
            #expect(found?.contains(reason) == true, "\(reason): \(found ?? "taken")")
        }
    }

    /// With any of these as key, a signature of zeros fits some messages.
    @Test(arguments: [
        String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31),
        "ec" + String(repeating: "ff", count: 30) + "7f", "ee" + String(repeating: "ff", count: 30) + "ff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    ])
    func aKeyThatAnybodySignsWithIsRefused(hexadecimal: String) {
        let digits = Array(hexadecimal)
        let bytes = stride(from: 0, to: 64, by: 2).map { UInt8(String(digits[$0...$0 + 1]), radix: 16) ?? 0 }
        let key = #"{"kty": "OKP", "crv": "Ed25519", "x": "\#(Base64URL.encode(bytes))"}"#
        #expect(refusal(#"{"keys": [\#(key)]}"#)?.contains("lets anyone sign") == true)
    }

    @Test func whatHoldsASecretIsTold() {
        #expect(!PhoneKeySet.isPublic(Array(Self.forge.keySet.utf8)) && !PhoneKeySet.isPublic(Array("?".utf8)))
        #expect(PhoneKeySet.isPublic(Array(#"{"keys": [\#(Self.forge.p256Key), \#(Self.forge.ed25519Key)]}"#.utf8)))
    }
}

@Suite struct UserBudgetTests {
    @Test func memoryIsBoundedAndWhoAskedLatelyIsKnown() {
        let budgets = UserBudgets(1)
        let start = (0..<UserBudgets.burst + 1).map { _ in budgets.take("ann", now: 0) }
        #expect(start == Array(repeating: true, count: UserBudgets.burst) + [false], "what an app asks when it starts")
        for number in 0..<50_000 { #expect(budgets.take("\(number)", now: 0)) }
        #expect(budgets.count <= 2 * UserBudgets.generation)
        for _ in 1..<UserBudgets.burst { #expect(budgets.take("49999", now: 0)) }
        #expect(!budgets.take("49999", now: 0) && budgets.take("ann", now: 0))
    }
}
