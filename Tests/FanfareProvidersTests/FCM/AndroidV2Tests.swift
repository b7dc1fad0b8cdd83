import FanfareCore
import Testing

@testable import FanfareProviders

/// The block `android_v2`, a preview: passed through, and made from `android` for apps that ask for it.
struct AndroidV2Tests {
    private let note: JSONValue = ["notification": ["title": "T"]]
    private let shown: JSONValue = ["remote_notification": ["notification": ["title": "A"]]]

    private func with(_ block: JSONValue) -> JSONValue { note.setting("android_v2", to: block) }

    /// Returns the message of a rule as an app sends it that asks for the preview.
    private func preview(
        _ message: JSONValue,
        _ patch: JSONValue = [:],
        _ context: RenderContext = event(),
        badge: Int64? = nil
    ) throws -> JSONValue? {
        let push = try CompiledRule(json: rule(message: message, patch)).render(
            context,
            provider: .fcm,
            kind: .device,
            locale: nil,
            identity: ProviderIdentity(asksForPreview: true),
            badge: badge
        )
        return try push.request(to: .token("t"))["message"]?.setting("token", to: nil)
    }

    @Test func everyFieldOfTheTableIsTakenByteForByte() throws {
        let block = #"""
            {"collapse_key":"k","ttl":"3.5s","restricted_package_name":"p","data":{"a":"b"},"fcm_options":{"analytics_label":"l"},"direct_boot_ok":true,"bandwidth_constrained_ok":true,"restricted_satellite_ok":false,"remote_notification":{"notification":{"title":"t","body":"b","icon":"i","color":"#aabbcc","sound":"s","tag":"g","click_action":"c","title_loc_key":"k","title_loc_args":["x"],"body_loc_key":"k","body_loc_args":["y"],"channel_id":"h","ticker":"r","sticky":true,"event_time":"2026-01-01T00:00:00Z","local_only":true,"notification_priority":"PRIORITY_HIGH","default_sound":true,"default_vibrate_timings":false,"default_light_settings":false,"vibrate_timings":["0s","1.5s"],"visibility":"PUBLIC","notification_count":3,"light_settings":{"color":{"red":1,"green":0,"blue":0,"alpha":1},"light_on_duration":"1s","light_off_duration":"1s"},"image":"https://a.example/i","id":-7},"mutable_content":true,"use_as_v1_data_message":false}}
            """#
        let source = rule(message: ["android_v2": try json(block)])
        let push = try source.push(.fcm, event())
        let sent = push.body + FCMTarget.token("t").insertion + push.bodySuffix
        #expect(String(decoding: sent, as: UTF8.self) == #"{"message":{"android_v2":\#(block),"token":"t"}}"#)
        // Content for FCM only.
        #expect(throws: RenderProblem.noContent(.webpush)) { try source.push(.webpush) }
        #expect(throws: RenderProblem.noContent(.apns)) { try source.push(.apns) }
        let sync: JSONValue = ["android_v2": ["background_sync": [:]]]
        #expect(try rule(message: sync).message() == sync)
    }

    private static let remote: JSONValue = ["notification": ["title": "A"]]

    static let wrong: [(block: JSONValue, place: String, reason: String)] = [
        (["ttl": "5s"], "", "has neither remote_notification nor background_sync"),
        (
            ["remote_notification": remote, "background_sync": [:]], "",
            "has both remote_notification and background_sync"
        ),
        (["background_sync": ["x": 1]], ".background_sync.x", "unknown key"),
        (["background_sync": true], ".background_sync", "is a boolean"),
        (["background_sync": [:], "priority": "HIGH"], ".priority", "unknown key"),
        (["background_sync": [:], "notification": ["title": "A"]], ".notification", "unknown key"),
        (["background_sync": [:], "ttl": "-5s"], ".ttl", "is not a duration"),
        (["background_sync": [:], "ttl": "2419201s"], ".ttl", "is not a duration"),
        (["background_sync": [:], "data": ["gcm.x": "x"]], ".data.gcm.x", "is a key FCM keeps for itself"),
        (["background_sync": [:], "direct_boot_ok": "yes"], ".direct_boot_ok", "is a string"),
        (["remote_notification": ["mutable_content": 1]], ".remote_notification.mutable_content", "is a number"),
        (
            ["remote_notification": ["notification": ["proxy": "ALLOW"]]], ".remote_notification.notification.proxy",
            "unknown key"
        ),
        (
            ["remote_notification": ["notification": ["id": 2_147_483_648]]], ".remote_notification.notification.id",
            "is 2147483648"
        ),
        (
            ["remote_notification": ["notification": ["body_loc_args": ["x"]]]],
            ".remote_notification.notification.body_loc_args", "has no body_loc_key beside it"
        ),
        (
            ["remote_notification": ["notification": ["light_settings": ["color": ["red": 1]]]]],
            ".remote_notification.notification.light_settings", "has no light_on_duration"
        ),
    ]

    @Test(arguments: wrong)
    func refusedAtSave(block: JSONValue, place: String, reason: String) {
        let found = problem(rule(message: with(block)))
        #expect(found?.path == "message.android_v2\(place)" && found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
    }

    @Test func oneOfTheBlocksIsAllowed() throws {
        let both = with(shown).setting("android", to: ["ttl": "5s"])
        let found = problem(rule(message: both))
        #expect(found?.path == "message.android_v2" && found?.reason == "is beside android")
        let locales: JSONValue = ["locales": ["es": ["android": ["ttl": "5s"]]]]
        let spanish = problem(rule(message: with(shown), locales))
        #expect(spanish?.path == "locales.es.android" && spanish?.reason == "is beside android_v2")
        let replaced: JSONValue = ["locales": ["es": ["android_v2": nil, "android": ["ttl": "5s"]]]]
        #expect(try rule(message: with(shown), replaced).message(locale: "es")["android_v2"] == nil)
        // A rule that FCM gets nothing of may have both.
        #expect(throws: Never.self) { try CompiledRule(json: rule(message: both, ["to": ["provider": "apns"]])) }
    }

    @Test func optionsOfTheRuleGoIntoTheBlock() throws {
        let source = rule(message: with(shown), ["collapse": "c-{{id}}", "ttl": "1h"])
        let message = try source.message(event(["id": 7], secondsLeft: 90))
        #expect(message["android"] == nil)
        #expect(message["android_v2"] == shown.applying(mergePatch: ["collapse_key": "c-7", "ttl": "90s"]))
        var context = event()
        (context.time, context.secondsSpent) = (1000, 600)
        let push = try rule(message: with(shown.setting("ttl", to: "3600s"))).push(.fcm, context)
        #expect(try push.request(to: .token("t"))["message"]?["android_v2"]?["ttl"] == "3000s")
        #expect(push.endsAt == 4600 * Micros.second)
        #expect(try rule(message: with(shown)).push(.webpush)[header: "urgency"] == "high")
        #expect(try rule(message: with(["background_sync": [:]])).push(.webpush)[header: "urgency"] == "normal")
    }

    @Test func localesComeLast() throws {
        let message = with(shown.setting("data", to: ["a": "1"])).setting("data", to: ["a": "0"])
        let spanish: JSONValue = ["notification": ["title": "Ñ"], "data": ["a": "2"]]
        let sent = try rule(message: message, ["locales": ["es": spanish]]).message(locale: "es")
        #expect(sent["notification"]?["title"] == "Ñ")
        #expect(sent["android_v2"] == ["remote_notification": ["notification": [:]], "data": ["a": "2"]])
        let own: JSONValue = ["android_v2": ["remote_notification": ["notification": ["title": "Ñ"]]]]
        let blocked = try rule(message: message, ["locales": ["es": own]]).message(locale: "es")
        #expect(blocked["android_v2"]?["remote_notification"] == ["notification": ["title": "Ñ"]])
    }

    private static let badge: JSONValue = [
        "badge_sql": "SELECT user_id, n FROM public.unread WHERE user_id = ANY ($1)"
    ]

    @Test func badgesStandInTheNotification() throws {
        let message = try preview(with(shown), Self.badge, badge: 3)
        let place = message?["android_v2"]?["remote_notification"]?["notification"]
        #expect(place == ["title": "A", "notification_count": 3] && message?["android"] == nil)
        let silent = try preview(with(["background_sync": [:]]), Self.badge, badge: 3)
        #expect(silent?["android_v2"] == ["background_sync": [:]])
        let made = try preview(note, Self.badge, badge: 3)
        #expect(made?["android_v2"] == ["remote_notification": ["notification": ["notification_count": 3]]])
    }

    @Test func sizesCountTheBlock() throws {
        let long = { (count: Int) in JSONValue.string(String(repeating: "x", count: count)) }
        let fcm: JSONValue = ["to": ["provider": "fcm"]]
        let data: JSONValue = ["android_v2": ["background_sync": [:], "data": ["a": long(4095)]]]
        #expect(try rule(message: data, fcm).message() == data)
        let larger: JSONValue = ["android_v2": ["background_sync": [:], "data": ["a": long(4096)]]]
        #expect(problem(rule(message: larger, fcm))?.reason == "has at least 4097 bytes for one platform of fcm")
        let notification: JSONValue = ["android_v2": ["remote_notification": ["notification": ["body": long(4093)]]]]
        #expect(problem(rule(message: notification, fcm))?.reason == "has at least 4097 bytes for one platform of fcm")
    }

    private static let made: [(message: JSONValue, block: JSONValue?)] = [
        (["notification": ["title": "T"]], ["remote_notification": ["notification": [:]]]),
        (["data": ["a": "b"]], ["background_sync": [:]]),
        (
            ["data": ["a": "b"], "android": ["priority": "NORMAL", "ttl": "5s"]], ["ttl": "5s", "background_sync": [:]]
        ),
        (
            ["data": ["a": "b"], "android": ["priority": "high"]],
            ["remote_notification": ["notification": [:], "use_as_v1_data_message": true]]
        ),
        (
            [
                "notification": ["title": "T"],
                "android": [
                    "priority": "NORMAL", "collapse_key": "k", "restricted_package_name": "p", "direct_boot_ok": true,
                    "data": ["a": "b"], "fcm_options": ["analytics_label": "l"],
                    "notification": ["icon": "i", "proxy": "DENY", "bypass_proxy_notification": true],
                ],
            ],
            [
                "collapse_key": "k", "restricted_package_name": "p", "direct_boot_ok": true, "data": ["a": "b"],
                "fcm_options": ["analytics_label": "l"], "remote_notification": ["notification": ["icon": "i"]],
            ]
        ),
        // What has nothing for Android, or a priority that only an event tells, stays as it is.
        (["apns": ["payload": ["a": "b"]]], nil), (["data": ["a": "b"], "android": ["priority": "{{p}}"]], nil),
        (["android_v2": ["background_sync": [:], "ttl": "5s"]], ["background_sync": [:], "ttl": "5s"]),
    ]

    @Test(arguments: made)
    func anAppThatAsksGetsTheBlock(message: JSONValue, block: JSONValue?) throws {
        let sent = try preview(message, [:], event(["p": "HIGH"]))
        #expect(sent?["android_v2"] == block)
        if block != nil { #expect(sent?["android"] == nil) }
        let rest = ["notification", "data", "apns"]
        for key in rest { #expect(sent?[key] == message[key]) }
        // An app that does not ask gets the message as it is.
        let plain = try rule(message: message).message(event(["p": "HIGH"]))
        #expect(plain["android_v2"] == message["android_v2"])
    }

    @Test func optionsOfTheRuleGoIntoTheBlockThatIsMade() throws {
        let made = try preview(note, ["collapse": "c", "ttl": "1h"], event(secondsLeft: 90))
        let block: JSONValue = ["remote_notification": ["notification": [:]], "collapse_key": "c", "ttl": "90s"]
        #expect(made?["android_v2"] == block && made?["android"] == nil)
        let topic = rule(message: note).setting("to", to: ["fcm_topic": "news"])
        let push = try CompiledRule(json: topic).render(
            event(),
            to: .fcmTopic("news"),
            identity: ProviderIdentity(asksForPreview: true)
        )
        #expect(
            try push.request(to: .topic("news"))["message"]?["android_v2"] == [
                "remote_notification": ["notification": [:]]
            ]
        )
    }

    @Test func liveActivitiesNeedATokenAndOneDevice() throws {
        let message = { (token: JSONValue) -> JSONValue in
            ["apns": ["live_activity_token": token, "payload": ["aps": ["event": "update"]]]]
        }
        let fcm: JSONValue = ["to": ["provider": "fcm"]]
        let empty = problem(rule(message: message(""), fcm))
        #expect(empty?.path == "message.apns.live_activity_token" && empty?.reason == "is empty")
        let source = rule(message: message("{{t}}"), fcm)
        #expect(try source.push(.fcm, event(["t": "x"])).isForActivity)
        #expect(try rule(message: note, fcm).push(.fcm).isForActivity == false)
        let path = "message.apns.live_activity_token"
        #expect(throws: RenderProblem.wrongValue(path: path, needed: "a text that is not empty")) {
            try source.push(.fcm, event(["t": ""]))
        }
        let topic = problem(rule(message: message("x")).setting("to", to: ["fcm_topic": "news"]))
        #expect(topic?.path == path && topic?.hint == "use users: or tokens:")
    }
}
