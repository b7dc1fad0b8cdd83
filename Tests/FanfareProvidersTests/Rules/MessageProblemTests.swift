import FanfareCore
import Testing

@testable import FanfareProviders

private let everyone = Providers.names.map(\.rawValue).joined(separator: ", ")

struct MessageProblemTests {
    @Test(
        arguments: [
            (["token": "x"], "message.token", "names a target"),
            (["topic": "x"], "message.topic", "names a target"),
            (["condition": "x"], "message.condition", "names a target"),
            (["fid": "x"], "message.fid", "names a target"),
            (["message": ["data": [:]]], "message.message", "wraps the message again"),
            (["notificaton": [:]], "message.notificaton", "unknown key"),
            (["notification": ["text": "x"]], "message.notification.text", "unknown key"),
            (["notification": ["title": 3]], "message.notification.title", "is a number"),
            (["notification": ["title": "{{#a}}"]], "message.notification.title", "{{#a}} is not closed"),
            (["data": ["a": 1]], "message.data.a", "is a number"),
            (["data": ["a": ["b": "c"]]], "message.data.a", "is an object"),
            (["data": ["from": "x"]], "message.data.from", "is a key FCM keeps for itself"),
            (["data": ["google.x": "x"]], "message.data.google.x", "is a key FCM keeps for itself"),
            (["data": ["aps": "x"]], "message.data.aps", "would replace aps"),
            (["android": ["data": ["a": true]]], "message.android.data.a", "is a boolean"),
            (
                ["android": ["notification": ["title": "{{>x}}"]]], "message.android.notification.title",
                "{{>x}} is a partial"
            ),
            (
                ["webpush": ["headers": ["Authorization": "x"]]], "message.webpush.headers.Authorization",
                "is set by Fanfare"
            ),
            (
                ["webpush": ["headers": ["Content-Encoding": "x"]]], "message.webpush.headers.Content-Encoding",
                "is set by Fanfare"
            ),
            (["webpush": ["headers": ["TTL": 5]]], "message.webpush.headers.TTL", "is a number"),
            (["apns": ["header": [:]]], "message.apns.header", "unknown key"),
            (["apns": ["payload": "x"]], "message.apns.payload", "is a string"),
            (
                ["apns": ["payload": ["aps": ["alert": "{{x}}", "a": ["b": "{{nope(x)}}"]]]]],
                "message.apns.payload.aps.a.b", "{{nope(x)}} uses an unknown transform"
            ),
            (
                ["apns": ["payload": ["list": [1, "{{=x y=}}"]]]], "message.apns.payload.list[1]",
                "{{=x y=}} changes the delimiters"
            ),
            (["apns": ["payload": ["{{lang}}": 1]]], "message.apns.payload.{{lang}}", "is a key with a template"),
            (["android": ["priority": "HIGH"]], "message", "has nothing for \(everyone)"),
            (["notification": [:]], "message", "has nothing for \(everyone)"),
            (["apns": ["headers": [:]]], "message", "has nothing for \(everyone)"),
        ] as [(JSONValue, String, String)]
    )
    func shape(message: JSONValue, path: String, reason: String) {
        let found = problem(rule(message: message))
        #expect(found?.path == path)
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
    }

    @Test(
        arguments: [
            ("apns-id", "x", "is set by Fanfare"), ("Authorization", "bearer x", "is set by Fanfare"),
            ("apns-prioritty", "5", "unknown header"), ("apns-push-type", "alret", "is not a push type"),
            ("apns-push-type", "{{type}}", "is a template"), ("apns-priority", "{{p}}", "is a template"),
            ("apns-priority", "7", "is not a priority"), ("apns-priority", 5, "is a number"),
            ("apns-expiration", "soon", "is not a time in whole seconds since 1970"),
            ("apns-expiration", "-1", "is not a time in whole seconds since 1970"),
            ("apns-collapse-id", "", "is empty"),
            ("apns-collapse-id", "a\r\nauthorization: x", "has other than printable ASCII characters"),
            ("apns-collapse-id", "ñ", "has other than printable ASCII characters"),
            ("apns-topic", " x", "begins or ends with a space"),
            ("apns-collapse-id", .string(String(repeating: "x", count: 65)), "has more than 64 bytes"),
        ] as [(String, JSONValue, String)]
    )
    func headers(name: String, value: JSONValue, reason: String) {
        var headers = JSONObject()
        headers[name] = value
        let found = problem(rule(headers: .object(headers), payload: ["aps": ["alert": "x"]]))
        #expect(found?.path == "message.apns.headers.\(name)")
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
    }

    @Test func headersGivenTwice() {
        let message: JSONValue = ["notification": ["title": "x"]]
        let twice = problem(
            rule(
                message: message.applying(mergePatch: [
                    "apns": ["headers": ["apns-priority": "5", "APNS-Priority": "5"]]
                ])
            )
        )
        #expect(twice?.path == "message.apns.headers.APNS-Priority")
        #expect(twice?.reason == "is given twice")
        let collapse = message.applying(mergePatch: ["apns": ["headers": ["apns-collapse-id": "x"]]])
        #expect(problem(rule(message: collapse, ["collapse": "y"]))?.reason == "is given beside collapse")
        let ttl = message.applying(mergePatch: ["apns": ["headers": ["apns-expiration": "0"]]])
        #expect(problem(rule(message: ttl, ["ttl": "1h"]))?.path == "message.apns.headers.apns-expiration")
        #expect(problem(rule(message: ttl, ["ttl": "1h"]))?.reason == "is given beside ttl")
    }

    @Test(
        arguments: [
            (
                ["apns-priority": "10"], ["content-available": 1], "headers.apns-priority",
                "priority 10 does not go with push type background"
            ),
            (
                ["apns-push-type": "background", "apns-priority": "10"], ["content-available": 1],
                "headers.apns-priority", "priority 10 does not go with push type background"
            ),
            (
                ["apns-push-type": "background"], ["content-available": 1, "alert": "x"], "headers.apns-push-type",
                "push type background disagrees with the payload: it has alert, badge or sound"
            ),
            (
                ["apns-push-type": "background"], ["mutable-content": 1], "headers.apns-push-type",
                "push type background disagrees with the payload: it has no content-available"
            ),
            (
                [:], ["content-available": 0], "payload",
                "push type background disagrees with the payload: content-available is not 1"
            ),
            (
                ["apns-push-type": "alert"], ["content-available": 1], "headers.apns-push-type",
                "push type alert disagrees with the payload: it has only content-available"
            ),
            (
                ["apns-push-type": "alert"], ["alert": "x", "content-state": [:]], "headers.apns-push-type",
                "push type alert disagrees with the payload: it is that of a Live Activity"
            ),
            (
                ["apns-push-type": "liveactivity"], ["event": "update"], "headers.apns-push-type",
                "push type liveactivity disagrees with the payload: aps has no timestamp"
            ),
            (
                ["apns-push-type": "liveactivity"], ["timestamp": 1, "event": "go"], "headers.apns-push-type",
                "push type liveactivity disagrees with the payload: aps.event is not start, update or end"
            ),
            (
                ["apns-push-type": "widgets"], ["content-changed": false], "headers.apns-push-type",
                "push type widgets disagrees with the payload: aps.content-changed is not true"
            ),
            (
                ["apns-push-type": "pushtotalk", "apns-priority": "5"], [:], "headers.apns-priority",
                "priority 5 does not go with push type pushtotalk"
            ),
            (
                ["apns-push-type": "voip", "apns-topic": "com.example"], [:], "headers.apns-topic",
                "has not the suffix of push type voip"
            ),
        ] as [(JSONValue, JSONValue, String, String)]
    )
    func contradictions(headers: JSONValue, aps: JSONValue, path: String, reason: String) {
        let found = problem(rule(headers: headers, payload: ["aps": aps]))
        #expect(found?.path == "message.apns.\(path)")
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
    }

    @Test func sizes() throws {
        let long = { (count: Int) in JSONValue.string(String(repeating: "x", count: count)) }
        // {"a":"…"} is 8 bytes more than the text.
        _ = try CompiledRule(json: rule(message: ["apns": ["payload": ["a": long(4088)]]]))
        let large = problem(rule(message: ["apns": ["payload": ["a": long(4089)]]]))
        #expect(large?.path == "message.apns.payload")
        #expect(large?.reason == "the payload has at least 4097 bytes")
        let call: JSONValue = ["to": ["kind": "voip"]]
        _ = try CompiledRule(json: rule(message: ["apns": ["payload": ["a": long(5112)]]], call))
        #expect(
            problem(rule(message: ["apns": ["payload": ["a": long(5113)]]], call))?.hint == "APNs takes at most 5120"
        )
        let locale = problem(rule(["locales": ["es": ["notification": ["body": long(4096)]]]]))
        #expect(locale?.path == "locales.es")
    }

    @Test func localesAndCollapse() {
        #expect(problem(rule(["locales": ["spanish-x-": [:]]]))?.path == "locales.spanish-x-")
        #expect(problem(rule(["locales": ["es": [:], "ES": [:]]]))?.reason == "is there twice")
        #expect(problem(rule(["locales": ["es": ["title": "x"]]]))?.path == "locales.es.title")
        #expect(problem(rule(["locales": ["es": ["data": ["a": 1]]]]))?.path == "locales.es.data.a")
        #expect(problem(rule(["collapse": "{{#a}}"]))?.path == "collapse")
        #expect(problem(rule(["collapse": "{{device.id}}"]))?.reason == "depends on a device")
        #expect(
            problem(rule(["collapse": .string(String(repeating: "x", count: 65))]))?.reason == "has more than 64 bytes"
        )
        #expect(problem(rule(["collapse": "número-{{id}}"]))?.reason == "has other than printable ASCII characters")
        let long = JSONValue.string(String(repeating: "x", count: 65) + "{{id}}")
        #expect(problem(rule(["collapse": long]))?.reason == "has more than 64 bytes")
        #expect(problem(rule(["collapse": ""]))?.reason == "is empty")
        #expect(problem(rule(["collapse": "a\nb"]))?.reason == "has other than printable ASCII characters")
    }
}
