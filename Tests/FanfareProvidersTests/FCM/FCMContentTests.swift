import FanfareCore
import PayloadFixtures
import Testing

@testable import FanfareProviders

struct FCMContentTests {
    private let note: JSONValue = ["notification": ["title": "T"]]

    @Test(arguments: FCMFixtures.requests)
    func requestsComeThroughUnchanged(name: String, text: String) throws {
        let request = try json(text)
        var message = try #require(request["message"]?.objectValue)
        let to: JSONValue
        let target: FCMTarget
        if let topic = message["topic"]?.stringValue {
            (to, target) = (["fcm_topic": .string(topic)], .topic(topic))
        } else if let condition = message["condition"]?.stringValue {
            (to, target) = (["fcm_condition": .string(condition)], .condition(condition))
        } else {
            let token = try #require(message["token"]?.stringValue)
            (to, target) = (["users": "$.customer_id", "provider": "fcm"], .token(token))
        }
        for key in ["token", "topic", "condition"] { message[key] = nil }
        let compiled = try CompiledRule(json: rule(message: .object(message)).setting("to", to: to))
        let push: RenderedPush
        if case .native(let audience) = compiled.audience {
            let native = try audience.target(event())
            #expect(native.fcm == target)
            push = try compiled.render(event(), to: native)
        } else {
            push = try compiled.render(event(), provider: .fcm, kind: .device, locale: nil, identity: .init(topic: ""))
        }
        #expect(try push.request(to: target) == request)
        #expect(push.headers.isEmpty && push.deliveryHeader == nil)
        let validating = FCMRequest.validatingOnly(push.body) + target.insertion + push.bodySuffix
        #expect(try JSONValue(parsing: validating) == request.setting("validate_only", to: true))
    }

    @Test(arguments: APNsFixtures.payloads)
    func apnsPayloadsPassUnchanged(name: String, text: String) throws {
        let payload = try json(text)
        let message: JSONValue = ["apns": ["payload": payload]]
        #expect(try rule(message: message).message() == message)
    }

    @Test func insertionsCannotBreakTheDocument() throws {
        let push = try rule(message: note).push(.fcm)
        let nasty = #"a","topic":"x\"# + "\n"
        #expect(
            try push.request(to: .token(nasty))["message"]
                == note["notification"].map { ["notification": $0, "token": .string(nasty)] }
        )
        #expect(FCMRequest.path(project: "demo") == "/v1/projects/demo/messages:send")
    }

    @Test func collapseAndTimeGoIntoEveryBlock() throws {
        let source = rule(message: note, ["collapse": "order-{{id}}", "ttl": "1h"])
        let message = try source.message(event(["id": 7], secondsLeft: 90))
        let topic = try source.push(.webpush, event(["id": 7]))[header: "topic"]
        let expected: JSONValue = [
            "notification": ["title": "T"], "android": ["collapse_key": "order-7", "ttl": "90s"],
            "apns": ["headers": ["apns-collapse-id": "order-7", "apns-expiration": "1800000090"]],
            "webpush": ["headers": ["Topic": .string(topic ?? ""), "TTL": "90"]],
        ]
        #expect(message == expected)
        #expect(topic?.utf8.count == 32)
        #expect(try rule(message: note).message() == note)
    }

    @Test func whatIsGivenStays() throws {
        let given: JSONValue = [
            "notification": ["title": "T"], "android": ["collapse_key": "k", "ttl": "3.5s", "priority": "high"],
            "apns": ["headers": ["apns-priority": "5"]], "webpush": ["headers": ["topic": "t", "ttl": "5"]],
        ]
        let source = rule(message: given, ["to": ["provider": "fcm"], "collapse": "c", "ttl": "1h"])
        let message = try source.message(event(secondsLeft: 60))
        #expect(message["android"] == given["android"] && message["webpush"] == given["webpush"])
        #expect(
            message["apns"]?["headers"]
                == ["apns-priority": "5", "apns-collapse-id": "c", "apns-expiration": "1800000060"]
        )
    }

    @Test(
        arguments: [
            (0, "0s", "0"), (2_419_201, "2419200s", "2419201"), (9_999_999, "2419200s", "2592000"), (-5, "0s", "0"),
        ]
            as [(Int64, String, String)]
    )
    func timesAreBounded(left: Int64, duration: String, seconds: String) throws {
        let message = try rule(message: note).message(event(secondsLeft: left))
        #expect(message["android"]?["ttl"] == .string(duration))
        #expect(message["webpush"]?["headers"]?["TTL"] == .string(seconds))
    }

    /// Emitted at 1,000 s.
    @Test(
        arguments: [
            ("3600s", 0, "3600s", 4600), ("3600s", 600, "3000s", 4600), ("3.5s", 0, "3.5s", 1003),
            ("3.5s", 2, "1s", 1003), ("3.5s", 9, "0s", 1003), ("0s", 0, "0s", 1030), ("{{t}}", 0, "90s", 1090),
            ("{{t}}", 60, "30s", 1090),
        ] as [(String, Int64, String, Int64?)]
    )
    func aRetryGetsWhatIsLeft(given: String, spent: Int64, expected: String, end: Int64?) throws {
        let source = rule(message: note.setting("android", to: ["ttl": .string(given)]))
        var context = event(["t": "90s"])
        (context.time, context.secondsSpent) = (1000, spent)
        let push = try source.push(.fcm, context)
        #expect(try push.request(to: .token("t"))["message"]?["android"] == ["ttl": .string(expected)])
        #expect(push.endsAt == end.map { $0 * Micros.second })
        context.expiration = 2000
        #expect(try source.push(.fcm, context).endsAt == (given == "0s" ? nil : push.endsAt))
    }

    @Test func withoutTheTimeOfRenderingNothingIsSaid() throws {
        #expect(try rule(message: note).message(event(expiration: 1_800_000_000)) == note)
    }

    @Test func templatesKeepTheTypesOfTheSchema() throws {
        let message: JSONValue = [
            "notification": ["title": "{{n}}"], "data": ["n": "{{n}}"],
            "android": [
                "direct_boot_ok": "{{yes}}", "data": ["n": "{{n}}"],
                "notification": [
                    "title": "{{n}}", "notification_count": "{{n}}", "title_loc_key": "k", "title_loc_args": ["{{n}}"],
                ],
            ],
            "apns": ["headers": ["apns-priority": "5"], "payload": ["aps": ["badge": "{{n}}"]]],
            "webpush": ["data": ["n": "{{n}}"], "notification": ["title": "{{n}}", "timestamp": "{{n}}"]],
        ]
        let rendered = try rule(message: message).message(event(["n": 3, "yes": true]))
        #expect(rendered["notification"]?["title"] == "3" && rendered["data"]?["n"] == "3")
        let android = rendered["android"]
        #expect(android?["direct_boot_ok"] == true && android?["data"]?["n"] == "3")
        #expect(
            android?["notification"]
                == ["title": "3", "notification_count": 3, "title_loc_key": "k", "title_loc_args": ["3"]]
        )
        #expect(rendered["apns"]?["payload"]?["aps"]?["badge"] == 3)
        #expect(rendered["webpush"]?["notification"] == ["title": "3", "timestamp": 3])
        #expect(rendered["webpush"]?["data"]?["n"] == "3")
    }

    @Test func localesComeLast() throws {
        let message: JSONValue = [
            "notification": ["title": "T", "body": "B"], "data": ["a": "1"],
            "android": ["notification": ["title": "A", "icon": "i"], "data": ["a": "2", "b": "3"]],
            "apns": ["payload": ["aps": ["alert": ["title": "P"], "badge": 1], "a": "x"]],
            "webpush": ["notification": ["title": "W"]],
        ]
        let spanish: JSONValue = [
            "notification": ["title": "Ñ", "body": nil], "data": ["a": "4"], "fcm_options": ["analytics_label": "es"],
        ]
        let source = rule(message: message, ["locales": ["es": spanish]])
        #expect(try source.message() == message)
        let expected: JSONValue = [
            "notification": ["title": "Ñ"], "data": ["a": "4"],
            "android": ["notification": ["icon": "i"], "data": ["a": "4", "b": "3"]],
            "apns": ["payload": ["aps": ["badge": 1]]], "fcm_options": ["analytics_label": "es"],
        ]
        #expect(try source.message(locale: "es-MX") == expected.setting("webpush", to: nil))
        let blocks: JSONValue = ["android": ["notification": ["title": "B", "icon": nil]]]
        let blocked = try rule(message: message, ["locales": ["es": blocks]]).message(locale: "es")
        #expect(blocked["android"]?["notification"] == ["title": "B"] && blocked["webpush"] == message["webpush"])
        let text = message.applying(mergePatch: ["apns": ["payload": ["aps": ["alert": "P"]]]])
        for (overlay, alert) in [(["title": "Ñ"], nil), (["image": "i"], "P")] as [(JSONValue, JSONValue?)] {
            let localized = try rule(message: text, ["locales": ["es": ["notification": overlay]]]).message(
                locale: "es"
            )
            #expect(localized["apns"]?["payload"]?["aps"]?["alert"] == alert)
        }
    }

    @Test func sizesAreCountedByProvider() throws {
        let long = { (count: Int) in JSONValue.string(String(repeating: "é", count: count / 2)) }
        let fcm: JSONValue = ["to": ["provider": "fcm"]]
        // Far over the limit together, but no platform receives all of it.
        let split: JSONValue = ["android": ["data": ["a": long(4000)]], "webpush": ["data": ["a": long(4000)]]]
        #expect(try rule(message: split, fcm).message() == split)
        #expect(try rule(message: ["data": ["ab": long(4094)]], fcm).message()["data"]?["ab"] == long(4094))
        let large = problem(rule(message: ["data": ["abc": long(4094)]], fcm))
        #expect(large?.reason == "has at least 4097 bytes for one platform of fcm" && large?.path == "message")
        #expect(large?.hint == "FCM takes at most 4096")
        let templates = rule(message: ["data": ["abc": "{{t}}"]], fcm)
        #expect(throws: RenderProblem.tooLarge(bytes: 4097, limit: 4096)) {
            try templates.push(.fcm, event(["t": long(4094)]))
        }
        #expect(try templates.push(.fcm, event(["t": long(4092)])).body.count > 4096)
        let replaced: JSONValue = [
            "notification": ["body": long(3000)], "android": ["notification": ["body": long(3000)]],
        ]
        #expect(try rule(message: replaced, fcm).message() == replaced)
    }

    @Test func collapseIdsAreNeededByAll() {
        let source = rule(message: note, ["collapse": "{{id}}"])
        for provider in [PushProvider.fcm, .webpush] {
            #expect(throws: RenderProblem.missing(name: "id")) { try source.push(provider) }
        }
    }

    @Test func perDeviceFieldsAreSeen() throws {
        let source = rule(message: ["android": ["notification": ["title": "{{user.id}}"]]])
        #expect(try CompiledRule(json: source).needsDevice)
        let push = try source.push(.fcm, device: DeviceContext(deviceID: 1, userID: "Ana"))
        #expect(try push.request(to: .token("t"))["message"]?["android"]?["notification"]?["title"] == "Ana")
    }
}

/// The field tables of the message, where an error in them would make FCM reject every push.
struct FCMSchemaTests {
    @Test(
        arguments: [
            (["android": ["collapseKey": "x"]], "android.collapseKey", "unknown key"),
            (["android": ["priority": "URGENT"]], "android.priority", "is not one of its values"),
            (["android": ["ttl": "1h"]], "android.ttl", "is not a duration"),
            (["android": ["ttl": 3600]], "android.ttl", "is a number"),
            (["android": ["ttl": "2419201s"]], "android.ttl", "is not a duration"),
            (["android": ["ttl": "2419200.5s"]], "android.ttl", "is not a duration"),
            (["android": ["direct_boot_ok": "yes"]], "android.direct_boot_ok", "is a string"),
            (["android": ["notification": ["sound": 1]]], "android.notification.sound", "is a number"),
            (["android": ["notification": ["sticky": 1]]], "android.notification.sticky", "is a number"),
            (["android": ["notification": ["color": "red"]]], "android.notification.color", "is not a color"),
            (
                ["android": ["notification": ["notification_count": "3"]]], "android.notification.notification_count",
                "is a string"
            ),
            (
                ["android": ["notification": ["visibility": "HIDDEN"]]], "android.notification.visibility",
                "is not one of its values"
            ),
            (
                ["android": ["notification": ["vibrate_timings": ["1s", "fast"]]]],
                "android.notification.vibrate_timings[1]", "is not a duration"
            ),
            (
                ["android": ["notification": ["body_loc_args": "x"]]], "android.notification.body_loc_args",
                "is a string"
            ),
            (
                ["android": ["notification": ["body_loc_args": ["x"]]]], "android.notification.body_loc_args",
                "has no body_loc_key beside it"
            ),
            (
                ["android": ["notification": ["light_settings": ["color": ["red": 1]]]]],
                "android.notification.light_settings", "has no light_on_duration"
            ),
            (
                ["android": ["notification": ["light_settings": ["color": ["red": "x"]]]]],
                "android.notification.light_settings.color.red", "is a string"
            ),
            (["android": ["data": ["gcm.x": "x"]]], "android.data.gcm.x", "is a key FCM keeps for itself"),
            (["webpush": ["data": ["from": "x"]]], "webpush.data.from", "is a key FCM keeps for itself"),
            (["webpush": ["notification": ["title": 1]]], "webpush.notification.title", "is a number"),
            (["webpush": ["notification": ["dir": "up"]]], "webpush.notification.dir", "is not one of its values"),
            (["webpush": ["fcm_options": ["link": "http://x"]]], "webpush.fcm_options.link", "is not an https URL"),
            (["webpush": ["options": [:]]], "webpush.options", "unknown key"),
            (["fcm_options": ["analytics_label": "a b"]], "fcm_options.analytics_label", "is not a label"),
            (["apns": ["live_activity_token": 1]], "apns.live_activity_token", "is a number"),
            (["android": nil], "android", "is null"), (["android": "x"], "android", "is a string"),
        ] as [(JSONValue, String, String)]
    )
    func refusedAtSave(block: JSONValue, path: String, reason: String) {
        var message = block.objectValue ?? JSONObject()
        message["notification"] = ["title": "T"]
        let found = problem(rule(message: .object(message)))
        #expect(found?.path == "message.\(path)")
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
    }

    @Test func everyFieldOfTheTablesIsTaken() throws {
        let message = try json(
            #"""
            {"notification": {"title": "T", "body": "B", "image": "https://example.com/i.png"}, "data": {"k": "v"},
             "fcm_options": {"analytics_label": "a-1"},
             "android": {"collapse_key": "c", "priority": "NORMAL", "ttl": "3.500000000s", "restricted_package_name": "p",
               "data": {"k": "v"}, "fcm_options": {"analytics_label": "x"}, "direct_boot_ok": true,
               "bandwidth_constrained_ok": false, "restricted_satellite_ok": true,
               "notification": {"title": "t", "body": "b", "icon": "i", "color": "#A0b1c2", "sound": "s", "tag": "t",
                 "click_action": "c", "title_loc_key": "k", "title_loc_args": ["a"], "body_loc_key": "k",
                 "body_loc_args": ["a"], "channel_id": "c", "ticker": "t", "sticky": true,
                 "event_time": "2026-01-01T00:00:00Z", "local_only": true, "notification_priority": "PRIORITY_MAX",
                 "default_sound": true, "default_vibrate_timings": true, "default_light_settings": false,
                 "vibrate_timings": ["0.5s"], "visibility": "secret", "notification_count": 2,
                 "light_settings": {"color": {"red": 1, "green": 0.5, "blue": 0, "alpha": 1},
                   "light_on_duration": "1s", "light_off_duration": "2s"},
                 "image": "https://example.com/a.png", "proxy": "DENY", "bypass_proxy_notification": true}},
             "apns": {"headers": {"apns-priority": "5"}, "payload": {"aps": {"alert": "x"}},
               "fcm_options": {"image": "https://example.com/b.png", "analytics_label": "x"}, "live_activity_token": "abc"},
             "webpush": {"headers": {"Urgency": "low"}, "data": {"k": "v"},
               "notification": {"title": "t", "dir": "rtl", "vibrate": [1, 2], "actions": [{"action": "a"}], "x": null},
               "fcm_options": {"link": "https://example.com", "analytics_label": "x"}}}
            """#
        )
        #expect(try rule(message: message).message() == message)
    }
}
