import Testing

@testable import PushSandbox

struct WebPushWordingTests {
    @Test func mozillaHasNumbers() {
        let cases: [(WebPushRejection, Int, String)] = [
            (.notFound, 404, "102"), (.payloadTooLarge, 413, "104"), (.gone, 410, "106"), (.badToken, 401, "109"),
            (.unauthorized, 401, "109"), (.keyMismatch, 401, "109"), (.badEncryption, 400, "110"),
            (.missingTTL, 400, "111"), (.badTopic, 400, "113"), (.badTTL, 400, "114"),
            (.serviceUnavailable, 503, "201"), (.internalServerError, 500, "null"),
        ]
        for (rejection, status, number) in cases {
            let answer = WebPushService.mozilla.answer(rejection)
            #expect(answer.status == status)
            #expect(answer.body?.hasPrefix(#"{"code":\#(status),"errno":\#(number),"error":""#) == true, "\(rejection)")
        }
        #expect(WebPushService.mozilla.answer(.keyMismatch).body?.contains("VAPID public key mismatch") == true)
        #expect(WebPushService.mozilla.answer(.gone).headers.contains { $0 == ("cache-control", "max-age=86400") })
    }

    @Test func appleHasReasons() {
        let cases: [(WebPushRejection, Int, String)] = [
            (.notFound, 404, "BadPath"), (.gone, 410, "Unregistered"), (.missingTTL, 400, "BadTtl"),
            (.badUrgency, 400, "BadUrgency"), (.badTopic, 400, "BadWebPushTopic"),
            (.unauthorized, 403, "BadAuthorizationHeader"), (.expiredToken, 403, "BadJwtToken"),
            (.badKey, 403, "BadVapidPublicKey"), (.keyMismatch, 400, "VapidPkHashMismatch"),
            (.badEncryption, 400, "BadWebPushRequest"), (.payloadTooLarge, 413, "PayloadTooLarge"),
            (.tooManyRequests, 429, "TooManyRequests"), (.serviceUnavailable, 503, "ServiceUnavailable"),
        ]
        for (rejection, status, reason) in cases {
            let answer = WebPushService.apple.answer(rejection)
            #expect((answer.status, answer.body) == (status, #"{"reason":"\#(reason)"}"#))
        }
    }

    @Test func microsoftHasHeadersAndGoogleText() {
        let throttled = WebPushService.wns.answer(.tooManyRequests)
        #expect((throttled.status, throttled.body) == (406, nil))
        #expect(throttled.headers.contains { $0.name == "x-wns-error-description" })
        let mismatch = WebPushService.fcm.answer(.keyMismatch)
        #expect(mismatch.status == 403)
        #expect(mismatch.body?.contains("do not correspond") == true)
    }

    @Test func microsoftWantsAPolicyForATimeToLiveOfNothing() async throws {
        try await withSandbox { fixture in
            let sender = try WebPushTests.sender(fixture, "b", .wns)
            let client = try await fixture.connect()
            let request = try sender.request("{}", at: fixture.clock.seconds).with("ttl", "0")
            // At another host a client cannot know that the service is Microsoft's.
            #expect(try await client.push(request).status == 201)
            let refused = try await client.push(request.with("x-wns-cache-policy", "cache"))
            #expect(refused.status == 400)
            #expect(refused.header("x-wns-error-description") == "Ttl value conflicts with X-WNS-Cache-Policy.")
            #expect(try await client.push(request.with("x-wns-cache-policy", "no-cache")).status == 201)
            await client.close()
        }
    }

    @Test func appleWantsSomebodyToTurnTo() async throws {
        try await withSandbox { fixture in
            let sender = try WebPushTests.sender(fixture, "b", .apple)
            let client = try await fixture.connect()
            let now = fixture.clock.seconds
            let cases = [
                ("mailto:a@example.com", 201), ("https://example.com/push", 201), ("https://localhost/", 403),
                ("a@example.com", 403),
            ]
            for (subject, status) in cases {
                let claims = #"{"aud":"\#(sender.origin)","exp":\#(now + 60),"sub":"\#(subject)"}"#
                let request = try sender.request("{}", at: now)
                    .with("authorization", try sender.authorization(claims: claims))
                #expect(try await client.push(request).status == status, "\(subject)")
            }
            await client.close()
        }
    }
}
