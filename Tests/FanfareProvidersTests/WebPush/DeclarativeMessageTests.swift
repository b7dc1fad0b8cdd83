import FanfareCore
import Testing

@testable import FanfareProviders

/// Declarative Web Push, checked as Safari's parser does, which is the strictest reader.
struct DeclarativeMessageTests {
    private static let link = "https://shop.example/orders/7"

    /// Returns a message that asks for the form, with changes to the block for browsers.
    private func message(_ notification: JSONValue = [:], link: JSONValue? = .string(link)) -> JSONValue {
        var block: JSONValue = ["declarative": true, "notification": notification]
        if let link { block = block.setting("fcm_options", to: ["link": link]) }
        return ["notification": ["title": "T"], "webpush": block]
    }

    private func body(_ message: JSONValue, _ payload: JSONValue = [:], _ patch: JSONValue = [:]) throws -> String {
        String(decoding: try rule(message: message, patch).push(.webpush, event(payload)).body, as: UTF8.self)
    }

    @Test func theWholeFormByteForByte() throws {
        let message: JSONValue = [
            "notification": ["title": "Order {{id}}", "body": "Today", "image": "https://shop.example/p.png"],
            "data": ["id": "{{id}}"],
            "webpush": [
                "declarative": true,
                "notification": [
                    "lang": "en", "dir": "auto", "tag": "order-{{id}}", "icon": "https://shop.example/i.png",
                    "badge": "b.png", "silent": false, "requireInteraction": "{{stay}}", "app_badge": "{{unread}}",
                    "mutable": true,
                    "actions": [["action": "track", "title": "{{id}}", "navigate": "https://shop.example/t/{{id}}"]],
                ],
                "fcm_options": ["link": "https://shop.example/orders/{{id}}"],
            ],
        ]
        let expected =
            #"{"web_push":8030,"notification":{"title":"Order 7","body":"Today","image":"https://shop.example/p.png","#
            + #""lang":"en","dir":"auto","tag":"order-7","icon":"https://shop.example/i.png","badge":"b.png","#
            + #""silent":false,"requireInteraction":true,"app_badge":"3","mutable":true,"#
            + #""actions":[{"action":"track","title":"7","navigate":"https://shop.example/t/7"}],"#
            + #""navigate":"https://shop.example/orders/7","data":{"id":"7"}},"data":{"id":"7"},"#
            + #""fcm_options":{"link":"https://shop.example/orders/7"},"app_badge":3,"mutable":true}"#
        #expect(try body(message, ["id": 7, "stay": "true", "unread": "3"]) == expected)
    }

    @Test func withoutTheFlagNothingChanges() throws {
        let plain: JSONValue = [
            "notification": ["title": "T"], "webpush": ["fcm_options": ["link": .string(Self.link)]],
        ]
        let off = plain.applying(mergePatch: ["webpush": ["declarative": false]])
        #expect(try body(plain) == #"{"notification":{"title":"T"},"fcm_options":{"link":"\#(Self.link)"}}"#)
        #expect(try body(off) == body(plain))
    }

    @Test func aLinkOfItsOwnTakesTheNotificationsPlace() throws {
        let own = message(["navigate": "http://a.example:8080/?x#y"], link: nil)
        let expected = #"{"web_push":8030,"notification":{"title":"T","navigate":"http://a.example:8080/?x#y"}}"#
        #expect(try body(own) == expected)
        let both = try json(body(message(["navigate": "https://b.example"])))
        #expect(both["notification"]?["navigate"] == "https://b.example")
        #expect(both["fcm_options"]?["link"] == .string(Self.link))
        let data = try json(body(message(["data": [1]]).setting("data", to: ["a": "b"])))
        #expect(data["notification"]?["data"] == [1] && data["data"] == ["a": "b"])
    }

    @Test func localesAndVariantsTurnTheFormOnAndOff() throws {
        let patch: JSONValue = [
            "locales": ["es": ["webpush": ["declarative": false]], "fr": ["webpush": ["declarative": nil]]]
        ]
        let source = rule(message: message(), patch)
        for (locale, mark) in [(nil, 8030), ("es", nil), ("fr", nil)] as [(String?, JSONValue?)] {
            #expect(try source.plaintext(locale: locale)["web_push"] == mark)
        }
        let plain = message().applying(mergePatch: ["webpush": ["declarative": false]])
        let on = rule(message: plain, ["locales": ["es": ["webpush": ["declarative": true]]]])
        #expect(try on.plaintext()["web_push"] == nil && on.plaintext(locale: "es")["web_push"] == 8030)
        let bad = rule(message: message(), ["locales": ["es": ["webpush": ["fcm_options": ["link": nil]]]]])
        #expect(problem(bad)?.path == "locales.es.webpush.fcm_options.link")
    }

    /// The text inside is for WebKit, the number outside for the draft of the W3C.
    @Test(arguments: [(0, "0"), (3, "3"), (nil, "5")] as [(Int64?, String)])
    func badgesAreInBothPlaces(badge: Int64?, shown: String) throws {
        let sql = "SELECT user_id, n FROM public.unread WHERE user_id = ANY ($1)"
        let source = rule(
            message: message(["app_badge": 5]).setting("data", to: ["a": "b"]),
            ["badge_sql": .string(sql)]
        )
        let push = try CompiledRule(json: source).render(
            event(),
            provider: .webpush,
            kind: .device,
            locale: nil,
            identity: .init(),
            badge: badge
        )
        let body = try JSONValue(parsing: push.body)
        let data: JSONValue = badge == nil ? ["a": "b"] : ["a": "b", "badge": .string(shown)]
        #expect(body["app_badge"] == Int64(shown).map { .number(JSONNumber($0)) })
        #expect(body["notification"]?["app_badge"] == .string(shown))
        #expect(body["data"] == data && body["notification"]?["data"] == data)
    }

    private static let null: JSONValue = nil
    private static let half = (try? JSONValue(parsing: "0.5")) ?? nil

    /// Each value for which Safari would drop the whole message.
    static let wrong: [(notification: JSONValue, place: String, reason: String)] = [
        (["title": ""], "title", "is empty"), (["navigate": "/orders"], "navigate", "is not an absolute URL"),
        (["navigate": "orders/7"], "navigate", "is not an absolute URL"),
        (["navigate": "javascript:alert(1)"], "navigate", "is not an absolute URL"),
        (["navigate": "https://"], "navigate", "is not an absolute URL"), (["navigate": 7], "navigate", "is 7"),
        (["icon": "i.png"], "icon", "is not an absolute URL"), (["dir": "up"], "dir", "is not one of its values"),
        (["silent": "yes"], "silent", "is a string"), (["silent": 1], "silent", "is 1"),
        (["requireInteraction": "true"], "requireInteraction", "is a string"),
        (["mutable": 0], "mutable", "is 0"), (["mutable": [:]], "mutable", "is an object"),
        (["app_badge": -1], "app_badge", "is -1"), (["app_badge": half], "app_badge", "is 0.5"),
        (["app_badge": "many"], "app_badge", "is a string"), (["app_badge": true], "app_badge", "is a boolean"),
        (["actions": "{{actions}}"], "actions", "is not a list"),
        (["actions": ["x"]], "actions[0]", "is not an object"),
        (["actions": [["action": "a", "title": "A"]]], "actions[0]", "has no navigate"),
        (["actions": [["title": "A", "navigate": "https://a.example"]]], "actions[0]", "has no action"),
        (["actions": [["action": "a", "navigate": "https://a.example"]]], "actions[0]", "has no title"),
        (
            ["actions": [["action": "a", "title": "A", "navigate": "/a"]]], "actions[0].navigate",
            "is not an absolute URL"
        ),
        (["actions": [["action": "a", "title": 1, "navigate": "https://a.example"]]], "actions[0].title", "is 1"),
    ]

    @Test(arguments: wrong)
    func refusedAtSave(notification: JSONValue, place: String, reason: String) {
        let found = problem(rule(message: message(notification)))
        #expect(found?.path == "message.webpush.notification.\(place)")
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
        // The type of `dir` and of texts is checked in every message.
        let plain = message(notification).applying(mergePatch: ["webpush": ["declarative": false]])
        if place != "dir" { #expect(throws: Never.self) { try CompiledRule(json: rule(message: plain)) } }
    }

    /// Only a message that consists of the block keeps nulls.
    @Test(arguments: ["title", "navigate", "body", "lang", "dir", "tag", "icon", "silent", "app_badge", "mutable"])
    func nullMembersAreRefused(key: String) throws {
        var notification: JSONValue = ["title": "T", "navigate": .string(Self.link)]
        notification = notification.setting(key, to: Self.null)
        let found = problem(rule(message: ["webpush": ["declarative": true, "notification": notification]]))
        #expect(found?.path == "message.webpush.notification.\(key)" && found?.reason == "is null")
        _ = try CompiledRule(json: rule(message: ["webpush": ["notification": notification]]))
    }

    @Test(
        arguments: [
            (["notification": ["body": "B"]], "notification.title", "is missing"),
            (["data": ["a": "b"]], "webpush.declarative", "is true, but the message shows nothing in browsers"),
            ([:], "webpush.declarative", "is true, but the message shows nothing in browsers"),
        ] as [(JSONValue, String, String)]
    )
    func whatIsMissingIsNamed(rest: JSONValue, path: String, reason: String) {
        let link: JSONValue = ["declarative": true, "fcm_options": ["link": .string(Self.link)]]
        let found = problem(rule(message: rest.setting("webpush", to: link)))
        #expect(found?.path == "message.\(path)" && found?.reason == reason && found?.hint.isEmpty == false)
        let bare = problem(rule(message: message(link: nil)))
        #expect(bare?.path == "message.webpush.fcm_options.link" && bare?.reason == "is missing")
        let template = message().applying(mergePatch: ["webpush": ["declarative": "{{x}}"]])
        #expect(problem(rule(message: template))?.path == "message.webpush.declarative")
        // A rule that reaches no browser may say so: nothing is sent in this form.
        #expect(throws: Never.self) {
            try CompiledRule(json: rule(message: message(link: nil), ["to": ["provider": "apns"]]))
        }
    }

    @Test(
        arguments: [
            ("navigate", "/orders", nil), ("navigate", "javascript:alert(1)", nil), ("navigate", "", nil),
            ("navigate", "https://a b.example/", nil), ("navigate", "HTTPS://A.example", "HTTPS://A.example"),
            ("icon", "i.png", nil), ("title", "", nil), ("silent", "yes", nil), ("silent", "false", false),
            ("silent", true, true), ("app_badge", "x", nil), ("app_badge", -1, nil), ("app_badge", half, nil),
            ("app_badge", 9, "9"), ("app_badge", "12", "12"), ("mutable", 1, nil), ("mutable", false, false),
        ] as [(String, JSONValue, JSONValue?)]
    )
    func templatesAreCheckedWhenTheyAreRendered(key: String, value: JSONValue, expected: JSONValue?) throws {
        let source = rule(message: message().applying(mergePatch: ["webpush": ["notification": [key: "{{x}}"]]]))
        let rendered = Result { try source.plaintext(event(["x": value]))["notification"]?[key] }
        guard let expected else {
            let error = #expect(throws: RenderProblem.self) { try rendered.get() }
            #expect(error?.description.hasPrefix("message.webpush.notification.\(key) must be ") == true)
            return
        }
        #expect(try rendered.get() == expected)
    }

    @Test func anEventsLinkIsNeverOpenedUnchecked() throws {
        let source = rule(message: message(link: "https://{{host}}"))
        #expect(
            try source.plaintext(event(["host": "a.example/x"]))["notification"]?["navigate"] == "https://a.example/x"
        )
        let needed = "an absolute URL that begins with https:// or http://"
        for host in ["", "/x", "a@b.example", "a b", "a.example:x", "1.2.3", "[::1]"] as [JSONValue] {
            #expect(throws: RenderProblem.wrongValue(path: "message.webpush.fcm_options.link", needed: needed)) {
                try source.push(.webpush, event(["host": host]))
            }
        }
    }

    @Test(arguments: [
        ("https://a.example", true), ("http://a.example:1/x?y#z", true), ("https://bücher.example/ü", true),
        ("https://127.0.0.1:8443/", true), ("https://localhost", true), ("https://a.example.", true),
        ("https://a_b.example/%zz", true), ("//a.example", false), ("ftp://a.example", false),
        ("https:a.example", false),
        ("https:///a", false), ("https://a..b", false), ("https://.", false), ("https://a.example:", false),
        ("https://a.example:65536", false), ("https://a.example:80:80", false), ("https://256.1.1.1", false),
        ("https://1.2.3.04", false), ("https://a.0x7f", false), ("https://a%41.example", false),
        ("https://a.example/\u{7f}", false), (" https://a.example", false), ("https://a.example\\x", false),
        ("data:text/html,x", false), ("", false),
    ])
    func addresses(text: String, isAbsolute: Bool) { #expect(WebAddress.isAbsolute(text) == isAbsolute) }

    @Test func theFormCountsInFull() throws {
        let browsers: JSONValue = ["to": ["provider": "webpush"]]
        let long = message(["body": .string(String(repeating: "x", count: 3800))])
        #expect(try body(long, [:], browsers).utf8.count < 3993)
        let larger = long.applying(mergePatch: ["data": ["a": .string(String(repeating: "x", count: 60))]])
        #expect(problem(rule(message: larger, browsers))?.reason.hasSuffix("bytes for webpush") == true)
        #expect(try CompiledRule(json: rule(message: long, browsers)).advice.count == 1)
        #expect(try CompiledRule(json: rule(message: message(), browsers)).advice.isEmpty)
    }

    /// FCM refuses a key that it does not know; `notification` may have any.
    @Test func fcmGetsTheMessageWithoutTheFlag() throws {
        let sent = try rule(message: message(["navigate": "https://a.example", "app_badge": 1])).message()
        #expect(sent["webpush"]?["declarative"] == nil)
        #expect(sent["webpush"]?["notification"] == ["navigate": "https://a.example", "app_badge": 1])
        let bare: JSONValue = ["notification": ["title": "T"], "webpush": ["declarative": false]]
        #expect(try rule(message: bare).message() == ["notification": ["title": "T"]])
    }

    @Test func oneRenderingServesAllBrowsers() throws {
        #expect(try CompiledRule(json: rule(message: message(["tag": "{{id}}"]))).needsDevice == false)
        #expect(
            try CompiledRule(json: rule(message: message(["navigate": "https://a.example/{{user.id}}"]))).needsDevice
        )
    }
}
