import FanfareCore
import Testing

@testable import FanfareProviders

/// A value that a phone would ignore is rejected when the rule is stored, or for a template when it is rendered.
struct MessageTypeTests {
    private static let half = (try? JSONValue(parsing: "0.5")) ?? nil

    private func push(
        _ aps: JSONValue,
        _ payload: JSONValue = [:],
        _ provider: PushProvider = .apns
    ) throws -> JSONValue? {
        let source = rule(message: ["notification": ["title": "T"], "apns": ["payload": ["aps": aps]]])
        if provider == .fcm { return try source.message(event(payload))["apns"]?["payload"]?["aps"] }
        return try JSONValue(parsing: source.push(.apns, event(payload)).body)["aps"]
    }

    @Test(
        arguments: [
            (["mutable-content": true], "mutable-content", "is a boolean", "write 0 or 1"),
            (["badge": "3"], "badge", "is a string", "write a whole number from 0 to 2147483647"),
            (["badge": -1], "badge", "is -1", "write a whole number from 0 to 2147483647"),
            (["badge": half], "badge", "is 0.5", "write a whole number from 0 to 2147483647"),
            (
                ["interruption-level": "Critical"], "interruption-level", "is not one of its values",
                "known are passive, active, time-sensitive, critical"
            ),
            (
                ["interruption_level": "critical"], "interruption_level", "unknown key",
                "did you mean 'interruption-level'?"
            ),
            (["thread-id": 7], "thread-id", "is a number", "a string is needed; put it in quotes"),
            (["alert": ["title": 5]], "alert.title", "is a number", "an object is needed"),
            (["alert": ["titel": "x"]], "alert.titel", "unknown key", "did you mean 'title'?"),
            (["sound": ["critical": true]], "sound.critical", "is a boolean", "write 0 or 1"),
            (["sound": ["volume": "0.5"]], "sound.volume", "is a string", "write a number from 0 to 1"),
            (["sound": ["volume": 2]], "sound.volume", "is 2", "write a number from 0 to 1"),
            (
                ["stale-date": 1_790_000_000_000], "stale-date", "is 1790000000000",
                "write seconds since 1970, not milliseconds"
            ),
        ] as [(JSONValue, String, String, String)]
    )
    func literals(aps: JSONValue, place: String, reason: String, hint: String) {
        let found = problem(rule(message: ["notification": ["title": "T"], "apns": ["payload": ["aps": aps]]]))
        #expect(found?.path == "message.apns.payload.aps.\(place)")
        #expect(found?.reason == reason)
        #expect(found?.hint == hint)
    }

    @Test func anApsThatIsNoObjectIsRefused() {
        let found = problem(rule(message: ["notification": ["title": "T"], "apns": ["payload": ["aps": "x"]]]))
        #expect(found?.path == "message.apns.payload.aps" && found?.reason == "is a string")
    }

    @Test(arguments: [PushProvider.apns, .fcm])
    func textsThatAreNumbersBecomeNumbers(provider: PushProvider) throws {
        let aps: JSONValue = [
            "badge": "{{n}}", "sound": ["critical": 1, "name": "default", "volume": "{{v}}"], "thread-id": "{{t}}",
            "content-available": "{{#n}}1{{/n}}{{^n}}0{{/n}}", "new-key-of-apple": "{{t}}",
        ]
        let result = try push(aps, ["n": "3", "v": "0.5", "t": 7], provider)
        #expect(result?["badge"] == 3)
        #expect(result?["sound"] == ["critical": 1, "name": "default", "volume": try json("0.5")])
        #expect(result?["thread-id"] == "7" && result?["content-available"] == 1 && result?["new-key-of-apple"] == 7)
    }

    @Test(arguments: ["loud", "", "2", "-0.5", "NaN", "1 1", "true", "1e999"])
    func textsThatAreNoSuchNumberAreNotSent(volume: String) {
        let problem = RenderProblem.wrongValue(
            path: "message.apns.payload.aps.sound.volume",
            needed: "a number from 0 to 1"
        )
        #expect(throws: problem) { try push(["sound": ["volume": "{{v}}"]], ["v": .string(volume)]) }
        #expect(throws: problem) { try push(["sound": ["volume": "{{v}}"]], ["v": .string(volume)], .fcm) }
    }

    @Test(
        arguments: [
            (["notification": ["sticky": "{{x}}"]], "true", ["notification": ["sticky": true]]),
            (["notification": ["sticky": "{{x}}"]], 1, nil), (["priority": "{{x}}"], "high", ["priority": "high"]),
            (["priority": "{{x}}"], "urgent", nil), (["ttl": "{{x}}"], "soon", nil), (["ttl": "{{x}}"], 90, nil),
            (["notification": ["notification_count": "{{x}}"]], "7", ["notification": ["notification_count": 7]]),
            (["notification": ["notification_count": "{{x}}"]], half, nil),
            (["notification": ["color": "{{x}}"]], "red", nil),
        ] as [(JSONValue, JSONValue, JSONValue?)]
    )
    func fieldsOfAndroid(android: JSONValue, value: JSONValue, expected: JSONValue?) {
        let source = rule(message: ["notification": ["title": "T"], "android": android])
        let sent = try? source.message(event(["x": value]))
        #expect(sent?["android"] == expected)
    }

    @Test func timesInMillisecondsAreRefused() throws {
        let message = { (time: JSONValue) -> JSONValue in
            ["notification": ["title": "T"], "apns": ["headers": ["apns-expiration": time]]]
        }
        for audience in ["apns", "fcm"] as [JSONValue] {
            let to: JSONValue = ["to": ["provider": audience]]
            for text in ["1790000000000", "1790000000.5", "2026-11-27"] as [JSONValue] {
                let found = problem(rule(message: message(text), to))
                #expect(found?.path == "message.apns.headers.apns-expiration")
                #expect(found?.hint == #"write seconds such as "1800000000", not milliseconds"#)
            }
        }
        let source = rule(message: message("{{t}}"))
        #expect(throws: RenderProblem.header(name: "apns-expiration", reason: "is in milliseconds")) {
            try source.push(.apns, event(["t": 1_790_000_000_000]))
        }
        let path = "message.apns.headers.apns-expiration"
        #expect(throws: RenderProblem.wrongValue(path: path, needed: "whole seconds since 1970, not milliseconds")) {
            try source.message(event(["t": 1_790_000_000_000]))
        }
        let sent = try source.message(event(["t": 1_790_000_000]))
        #expect(sent["apns"]?["headers"] == ["apns-expiration": "1790000000"])
    }

    /// FCM answers such a push with a 400 that blames the token.
    @Test(arguments: ["apns", "fcm"] as [JSONValue])
    func anUrgentPushThatShowsNothingIsRefused(provider: JSONValue) {
        let data: JSONValue = ["data": ["a": "1"], "apns": ["headers": ["apns-priority": "10"]]]
        let found = problem(rule(message: data, ["to": ["provider": provider]]))
        #expect(found?.path == "message.apns.headers.apns-priority")
        #expect(found?.reason == "priority 10 does not go with a push that shows nothing")
        let shown = data.setting("apns", to: ["headers": ["apns-priority": "10"], "payload": ["aps": ["badge": 0]]])
        #expect(throws: Never.self) { try CompiledRule(json: rule(message: shown, ["to": ["provider": provider]])) }
    }

    @Test func anAlertThatShowsNothingIsRefused() {
        let found = problem(rule(message: ["data": ["a": "1"], "apns": ["headers": ["apns-push-type": "alert"]]]))
        #expect(found?.path == "message.apns.headers.apns-push-type")
        #expect(found?.reason == "push type alert has nothing to show")
    }

    /// An upgrade must not stop the pushes of an existing rule.
    @Test(
        arguments: [
            ["payload": ["aps": ["alert": "A", "badge": "3"]]], ["payload": ["aps": ["alert": "A", "bagde": 3]]],
            ["headers": ["apns-expiration": "1790000000000"], "payload": ["aps": ["alert": "A"]]],
        ] as [JSONValue]
    )
    func aRuleInForceGoesOn(apns: JSONValue) throws {
        let source = rule(message: ["apns": apns])
        #expect(throws: RuleProblem.self) { try CompiledRule(json: source) }
        let compiled = try MessageChecks.$areOn.withValue(false) { try CompiledRule(json: source) }
        let push = try compiled.render(
            event(),
            provider: .apns,
            kind: .device,
            locale: nil,
            identity: .init(topic: "com.example.shop")
        )
        #expect(try JSONValue(parsing: push.body) == apns["payload"])
    }

    @Test func anObjectGoesIntoDataAsJSONText() throws {
        let source = rule(message: ["data": ["order": "{{json(order)}}", "all": "o={{json(order.lines)}}"]])
        let payload = event(try json(#"{"order":{"id":7,"lines":[1,2.50,"ü\""],"x":null}}"#))
        let data = try source.message(payload)["data"]
        #expect(data?["order"] == .string(#"{"id":7,"lines":[1,2.50,"ü\""],"x":null}"#))
        #expect(data?["all"] == .string(#"o=[1,2.50,"ü\""]"#))
        #expect(throws: RenderProblem.missing(name: "order")) { try source.message(event(["order": nil])) }
    }

    @Test func digestsGoByThePayloadsUser() throws {
        let digest: JSONValue = ["digest": ["every": "1m", "by": "{{user}}"]]
        let source = rule(message: ["notification": ["title": "T"]], digest)
        #expect(try CompiledRule(json: source).digestKey(event(["user": "ann"])) == "ann")
        #expect(throws: RenderProblem.missing(name: "user")) { try CompiledRule(json: source).digestKey(event()) }
        let byDevice = source.setting("digest", to: ["every": "1m", "by": "{{user.id}}"])
        #expect(problem(byDevice)?.reason == "depends on a device")
    }
}
