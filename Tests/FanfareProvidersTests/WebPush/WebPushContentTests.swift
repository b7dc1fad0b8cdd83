import FanfareCore
import Testing

@testable import FanfareProviders

struct WebPushContentTests {
    private let note: JSONValue = ["notification": ["title": "T"]]

    @Test func bodiesAreMergedInOrder() throws {
        let message: JSONValue = [
            "notification": ["title": "T", "body": "B", "image": "https://example.com/i.png"],
            "data": ["a": "{{n}}", "b": "2"],
            "webpush": [
                "notification": ["body": "W", "icon": "i", "image": nil, "timestamp": "{{n}}"],
                "data": ["b": "3"], "fcm_options": ["link": "https://example.com/{{n}}"],
            ],
        ]
        let expected: JSONValue = [
            "notification": ["title": "T", "body": "W", "icon": "i", "timestamp": 7], "data": ["a": "7", "b": "3"],
            "fcm_options": ["link": "https://example.com/7"],
        ]
        let source = rule(
            message: message,
            ["locales": ["es": ["notification": ["title": "Ñ", "body": nil], "data": ["b": nil]]]]
        )
        #expect(try source.plaintext(event(["n": 7])) == expected)
        let spanish: JSONValue = [
            "notification": ["title": "Ñ", "icon": "i", "timestamp": 7], "data": ["a": "7"],
            "fcm_options": ["link": "https://example.com/7"],
        ]
        #expect(try source.plaintext(event(["n": 7]), locale: "es") == spanish)
    }

    @Test func anOwnBlockAlonePassesUnchanged() throws {
        let block = try json(#"{"notification":{"title":"T","tag":null,"vibrate":[1.0]},"data":{"k":"v"}}"#)
        #expect(try rule(message: ["webpush": block]).push(.webpush).body == block.encoded)
        #expect(try rule(message: ["data": ["k": "v"]]).plaintext() == ["data": ["k": "v"]])
    }

    @Test func everyRequestSaysHowLongAndHowUrgent() throws {
        let push = try rule(message: note).push(.webpush)
        #expect(push.headerLines == ["ttl: 86400", "urgency: normal"])
        #expect(push.deliveryHeader == .topic && push.bodySuffix.isEmpty)
    }

    @Test(
        arguments: [
            (nil, 90, "90"), ("3600", 90, "90"), ("60", 90, "60"), ("0", 90, "0"), ("60", nil, "60"),
            ("99999999", nil, "2592000"), (nil, 0, "0"), (nil, -9, "0"), (nil, 9_999_999, "2592000"),
            (nil, nil, "86400"),
        ] as [(String?, Int64?, String)]
    )
    func timeToLive(header: String?, left: Int64?, expected: String) throws {
        let headers = header.map { ["TTL": .string($0)] as JSONValue } ?? [:]
        let source = rule(message: note.setting("webpush", to: ["headers": headers]))
        let context = left.map { event(secondsLeft: $0) } ?? event()
        #expect(try source.push(.webpush, context)[header: "ttl"] == expected)
    }

    /// Emitted at 1,000 s.
    @Test(
        arguments: [
            ("60", nil, 0, "60", 1060), ("60", nil, 20, "40", 1060), ("60", nil, 90, "0", 1060),
            ("60", 30, 20, "30", 1060), ("0", nil, 5, "0", 1030), ("0", 30, 5, "0", nil),
            (nil, nil, 400, "86000", nil), (nil, 30, 400, "30", nil),
        ] as [(String?, Int64?, Int64, String, Int64?)]
    )
    func aRetryGetsWhatIsLeft(header: String?, left: Int64?, spent: Int64, expected: String, end: Int64?) throws {
        let headers = header.map { ["TTL": .string($0)] as JSONValue } ?? [:]
        var context = left.map { event(secondsLeft: $0) } ?? event()
        (context.time, context.secondsSpent) = (1000, spent)
        let push = try rule(message: note.setting("webpush", to: ["headers": headers])).push(.webpush, context)
        #expect(push[header: "ttl"] == expected)
        #expect(push.endsAt == end.map { $0 * Micros.second })
    }

    @Test(
        arguments: [
            (nil, nil, "normal"), ("NORMAL", nil, "normal"), ("HIGH", nil, "high"), ("high", nil, "high"),
            ("HIGH", "very-low", "very-low"), (nil, "{{u}}", "low"),
        ] as [(String?, String?, String)]
    )
    func urgency(priority: String?, header: String?, expected: String) throws {
        var message = note.objectValue ?? JSONObject()
        if let priority { message["android"] = ["priority": .string(priority)] }
        if let header { message["webpush"] = ["headers": ["Urgency": .string(header)]] }
        let push = try rule(message: .object(message)).push(.webpush, event(["u": "low"]))
        #expect(push[header: "urgency"] == expected)
    }

    @Test func theTopicComesFromCollapse() throws {
        let source = rule(message: note, ["collapse": "order-{{id}}"])
        let push = try source.push(.webpush, event(["id": 7]))
        let topic = try #require(push[header: "topic"])
        #expect(push.deliveryHeader == nil && topic.utf8.count == 32 && !topic.contains("order"))
        #expect(try source.push(.webpush, event(["id": 7]))[header: "topic"] == topic)
        #expect(try source.push(.webpush, event(["id": 8]))[header: "topic"] != topic)
        #expect(try source.setting("app", to: "other").push(.webpush, event(["id": 7]))[header: "topic"] != topic)
        let own = rule(message: note.setting("webpush", to: ["headers": ["Topic": "news_{{id}}"]]), ["collapse": "c"])
        let given = try own.push(.webpush, event(["id": 7]))
        #expect(given[header: "topic"] == "news_7" && given.deliveryHeader == nil)
        // Apple decodes a topic as base64, so it rejects one of 13 characters.
        for id in ["a b", "12345678"] {
            let hash = WebPushTopic.hash(collapse: "news_\(id)", app: "shop")
            #expect(try own.push(.webpush, event(["id": .string(id)]))[header: "topic"] == hash)
        }
        let lone = rule(message: note.setting("webpush", to: ["headers": ["topic": "collie-update"]]))
        let refused = problem(lone)
        #expect(refused?.path == "message.webpush.headers.topic" && refused?.reason == "is not a topic")
        #expect(refused?.hint == "Apple takes none of 13 characters; use 12 or 14, or collapse, which is hashed")
    }

    @Test func otherHeadersFollowAndLocalesChangeThem() throws {
        let message = note.setting("webpush", to: ["headers": ["X-One": "{{n}}", "Prefer": "respond-async"]])
        let overlay: JSONValue = ["webpush": ["headers": ["prefer": nil, "URGENCY": "low"]]]
        let source = rule(message: message, ["locales": ["es": overlay]])
        let lines = ["ttl: 86400", "urgency: normal", "x-one: 1", "prefer: respond-async"]
        #expect(try source.push(.webpush, event(["n": 1])).headerLines == lines)
        let spanish = try source.push(.webpush, event(["n": 1]), locale: "es")
        #expect(spanish.headerLines == ["ttl: 86400", "urgency: low", "x-one: 1"])
        #expect(throws: RenderProblem.header(name: "x-one", reason: "has other than printable ASCII characters")) {
            try source.push(.webpush, event(["n": "a\r\nauthorization: x"]))
        }
    }

    @Test(
        arguments: [
            ("TTL", "soon", "is not a time in whole seconds"), ("TTL", "-1", "is not a time in whole seconds"),
            ("TTL", "", "is empty"), ("Urgency", "urgent", "is not an urgency"), ("Topic", "a b", "is not a topic"),
            ("Topic", .string(String(repeating: "x", count: 33)), "is not a topic"),
            ("Crypto-Key", "x", "is set by Fanfare"), ("content-length", "1", "is set by Fanfare"),
            ("Content-Type", "x", "is set by Fanfare"), ("Encryption", "salt=x", "is set by Fanfare"),
            ("X Y", "x", "is not a header name"), ("X-Y", "ñ", "has other than printable ASCII characters"),
            ("X-Y", " x", "begins or ends with a space"),
            ("X-Y", "ñ{{x}}", "has other than printable ASCII characters"),
        ] as [(String, JSONValue, String)]
    )
    func headersRefusedAtSave(name: String, value: JSONValue, reason: String) {
        var headers = JSONObject()
        headers[name] = value
        let found = problem(rule(message: note.setting("webpush", to: ["headers": .object(headers)])))
        #expect(found?.path == "message.webpush.headers.\(name)")
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
    }

    @Test func theEncryptionsRecordLimitsTheSize() throws {
        let long = { (count: Int) in JSONValue.string(String(repeating: "x", count: count)) }
        let browsers: JSONValue = ["to": ["provider": "webpush"]]
        // {"data":{"a":"…"}} is 17 bytes without its text.
        let largest = rule(message: ["data": ["a": long(3976)]], browsers)
        #expect(try largest.push(.webpush).body.count == 3993)
        let large = problem(rule(message: ["data": ["a": long(3977)]], browsers))
        #expect(large?.path == "message" && large?.reason == "has at least 3994 bytes for webpush")
        _ = try CompiledRule(json: rule(message: ["data": ["a": long(3977)]], ["to": ["provider": "apns"]]))
        let template = rule(message: ["data": ["a": "{{t}}"]], browsers)
        #expect(throws: RenderProblem.tooLarge(bytes: 3994, limit: 3993)) {
            try template.push(.webpush, event(["t": long(3977)]))
        }
    }

    @Test func perDeviceFieldsAreSeen() throws {
        let message = note.setting("webpush", to: ["headers": ["Topic": "{{device.id}}"]])
        #expect(try CompiledRule(json: rule(message: message)).needsDevice)
    }

    @Test(arguments: [("0", "no-cache"), ("5", "cache")])
    func windowsIsToldACachePolicyThatFits(timeToLive: String, policy: String) throws {
        let message = note.setting("webpush", to: ["headers": ["TTL": .string(timeToLive)]])
        let push = try rule(message: message).push(.webpush)
        let windows = push.headers(forHost: "wns2-par02p.notify.windows.com").map { "\($0.name): \($0.value)" }
        #expect(windows == push.headerLines + ["x-wns-cache-policy: \(policy)"])
        for host in ["fcm.googleapis.com", "notify.windows.com.example", "web.push.apple.com"] {
            #expect(push.headers(forHost: host).map(\.name) == push.headers.map(\.name))
        }
    }
}
