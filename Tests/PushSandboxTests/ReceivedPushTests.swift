import Foundation
import Testing

@testable import PushSandbox

struct ReceivedPushTests {
    @Test func itReadsLikeAPhone() throws {
        let push = try Self.push(
            body:
                #"{"aps":{"alert":{"title":"Order 7","subtitle":"Soon","body":"Shipped"},"badge":3,"sound":"default"}}"#
        )
        #expect(
            push.describe() == """
                #4 the simulated iPhone got a push (apns production)
                  │ Order 7
                  │ Soon
                  │ Shipped
                  │ badge 3
                  │ sound default
                  token  0a1b2c3d…e8f9
                  apns-topic  com.example.demo
                  apns-push-type  alert
                  payload  \(push.body ?? "")
                """
        )
    }

    @Test func alertsHaveSeveralShapes() throws {
        #expect(try Self.push(body: #"{"aps":{"alert":"Just text"}}"#).describe().contains("│ Just text\n"))
        #expect(try Self.push(body: #"{"aps":{"content-available":1}}"#).describe().contains("nothing to see"))
        #expect(
            try Self.push(body: #"{"aps":{"alert":{"title-loc-key":"T","loc-key":"B"}}}"#).describe().contains(
                "│ (T)\n  │ (B)\n"
            )
        )
        #expect(try Self.push(body: "no json").describe().contains("no aps dictionary"))
    }

    @Test func otherDevicesShowWhatTheyGet() throws {
        var push = try Self.push(body: #"{"message":{"token":"a:b","notification":{"title":"T","body":"B"}}}"#)
        (push.provider, push.target) = ("fcm", "a:b")
        #expect(
            push.describe().hasPrefix(
                "#4 the simulated Android phone got a push (fcm production)\n  │ T\n  │ B\n  token  a:b\n"
            )
        )
        push.body = #"{"notification":{"title":"T"},"data":{"a":"b"}}"#
        (push.provider, push.target, push.status, push.headers) = ("webpush", "/push/b-1", 201, ["ttl": "60"])
        #expect(
            push.describe().hasPrefix(
                "#4 the simulated browser got a push (webpush production)\n  │ T\n  endpoint  b-1\n  ttl  60\n"
            )
        )
        (push.body, push.problem) = (nil, "the browser cannot decrypt the message")
        #expect(push.describe().contains("\n  problem  the browser cannot"))
    }

    @Test func refusalsAndSilenceAreTold() throws {
        var push = try Self.push(body: "{}")
        push.status = 410
        push.reason = "Unregistered"
        #expect(push.describe().hasPrefix("#4 apns production refused a push: 410 Unregistered\n  token"))
        push.status = nil
        push.fault = "silence"
        #expect(push.describe().hasPrefix("#4 apns production gave no answer (fault: silence)\n"))
    }

    @Test func aPushCannotSteerTheTerminal() throws {
        let push = try Self.push(body: #"{"aps":{"alert":"\u001b[2Jgone\nline"}}"#)
        #expect(!push.describe().contains("\u{1b}"))
        #expect(push.describe().contains("│ \u{FFFD}[2Jgone\u{FFFD}line\n"))
    }

    private static func push(body: String) throws -> ReceivedPush {
        ReceivedPush(
            n: 4,
            atNanoseconds: 1,
            atUnixMicroseconds: 2,
            connection: 1,
            stream: 1,
            provider: "apns",
            environment: "production",
            method: "POST",
            path: "/3/device/\(TestRequest.token)",
            headers: ["apns-topic": "com.example.demo", "apns-push-type": "alert"],
            body: body,
            status: 200
        )
    }
}
