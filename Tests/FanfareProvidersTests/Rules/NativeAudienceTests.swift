import FanfareCore
import Testing

@testable import FanfareProviders

private func source(to: JSONValue, _ patch: JSONValue = [:], message: JSONValue = ["notification": ["title": "T"]])
    -> JSONValue
{
    rule(message: message, patch).setting("to", to: to)
}

private let liveMessage: JSONValue = [
    "apns": ["payload": ["aps": ["timestamp": 1, "event": "update", "content-state": ["score": "2:1"]]]]
]

struct NativeAudienceTests {
    private func target(_ to: JSONValue, _ payload: JSONValue = [:], message: JSONValue? = nil) throws -> NativeTarget?
    {
        let compiled = try CompiledRule(json: message.map { source(to: to, message: $0) } ?? source(to: to))
        guard case .native(let audience) = compiled.audience else { return nil }
        return try audience.target(event(payload))
    }

    @Test func topicsAndConditionsAreRendered() throws {
        #expect(try target(["fcm_topic": "news"]) == .fcmTopic("news"))
        #expect(try target(["fcm_topic": "team-{{id}}"], ["id": 7]) == .fcmTopic("team-7"))
        let text = "'dogs' in topics || ('cats' in topics && 'pizza' in topics)"
        #expect(try target(["fcm_condition": .string(text)]) == .fcmCondition(text))
        let template = "('a{{n}}' in topics||'b' in topics) && !('c' in topics && 'd' in topics) && !'e' in topics"
        let rendered = try target(["fcm_condition": .string(template)], ["n": 1])
        let expected =
            "('a1' in topics || 'b' in topics) && !('c' in topics && 'd' in topics) && !('e' in topics)"
        #expect(rendered == .fcmCondition(expected))
        #expect(try TopicCondition(expected).text(event()) == expected)
    }

    @Test func valuesCannotWidenAConditionOrTopic() throws {
        for to in [["fcm_topic": "t-{{n}}"], ["fcm_condition": "'t-{{n}}' in topics"]] as [JSONValue] {
            for value in ["' in topics || 'all", "a b", "/topics/x"] as [JSONValue] {
                #expect(throws: RenderProblem.topicName(template: "t-{{n}}")) { try target(to, ["n": value]) }
            }
        }
    }

    @Test(
        arguments: [
            (["fcm_topic": "/topics/news"], "to.fcm_topic", "is not a topic name", "write it without /topics/"),
            (["fcm_topic": "a b"], "to.fcm_topic", "is not a topic name", nil),
            (["fcm_topic": ""], "to.fcm_topic", "is not a topic name", nil),
            (["fcm_topic": "{{user.id}}"], "to.fcm_topic", "depends on a device", nil),
            (["fcm_condition": "'a' in topics &&"], "to.fcm_condition", "column 17: the condition ends too early", nil),
            (
                ["fcm_condition": "'a' in topics || 'b' in topics && 'c' in topics"], "to.fcm_condition",
                "column 32: mixes && and || without parentheses", nil
            ),
            (
                [
                    "fcm_condition":
                        "'a' in topics && 'b' in topics && 'c' in topics && 'd' in topics && 'e' in topics && 'f' in topics"
                ], "to.fcm_condition", "has 6 topics", "FCM takes at most 5; condition: takes 64"
            ),
            (
                ["fcm_topic": "x", "permission": "denied"], "to.permission", "cannot filter an audience that fcm keeps",
                nil
            ),
            (
                ["fcm_topic": "x", "presents": ["alert"]], "to.presents", "cannot filter an audience that fcm keeps",
                nil
            ),
            (["fcm_topic": "x", "devices": "$.a == 1"], "to.devices", "cannot filter an audience that fcm keeps", nil),
            (["fcm_topic": "x", "kind": "voip"], "to.kind", "cannot filter an audience that fcm keeps", nil),
            (["channel": "x", "kind": "live_activity"], "to.kind", "cannot filter an audience that apns keeps", nil),
            (["fcm_topic": "x", "provider": "apns"], "to.provider", "apns does not keep this audience", nil),
            (["channel": "x", "provider": "fcm"], "to.provider", "fcm does not keep this audience", nil),
            (["fcm_topic": "x", "topic": "y"], "to", "has fcm_topic and topic", nil),
            (["fcm_topic": 1], "to.fcm_topic", "is not a string", nil),
            (["channel": "not base64!"], "to.channel", "is not a channel id", nil),
            (["channel": ""], "to.channel", "is not a channel id", nil),
            (["channel": "{{device.id}}"], "to.channel", "depends on a device", nil),
        ] as [(JSONValue, String, String, String?)]
    )
    func refusedAtSave(to: JSONValue, path: String, reason: String, hint: String?) {
        let found = problem(source(to: to, message: liveMessage.setting("notification", to: ["title": "T"])))
        #expect(found?.path == path)
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
        if let hint { #expect(found?.hint == hint) }
    }

    @Test func oneRequestForAllCannotDependOnTheDevice() {
        let device = problem(source(to: ["fcm_topic": "x"], message: ["notification": ["title": "{{user.id}}"]]))
        #expect(device?.reason == "names a device or user field, but fcm gets one request for all")
        let locales = problem(source(to: ["fcm_topic": "x"], ["locales": ["es": ["notification": ["title": "x"]]]]))
        #expect(locales?.path == "locales")
        let nothing = problem(source(to: ["fcm_topic": "x"], message: ["android": ["priority": "HIGH"]]))
        #expect(nothing?.reason == "has nothing for fcm")
    }

    @Test(
        arguments: [
            ["fcm_topic": "x"], ["fcm_condition": "'a' in topics"], ["channel": "dGVzdA=="],
            ["fcm_topic": "x", "provider": "fcm"],
        ] as [JSONValue]
    )
    func definitionsReadBack(to: JSONValue) throws {
        let source = source(
            to: to,
            ["collapse": "c-{{id}}"],
            message: to["channel"] == nil ? ["data": ["a": "b"]] : liveMessage
        )
        let definition = try RuleDefinition(json: source)
        #expect(definition.json == source)
        let compiled = try CompiledRule(definition: definition)
        #expect(compiled.providers == [to["channel"] == nil ? .fcm : .apns])
        #expect(!compiled.audience.needsRendering)
    }

    @Test func supersedingTellsTargetsApart() throws {
        let source = source(to: ["fcm_topic": "team-{{id}}"], ["collapse": "c", "supersede": true])
        let compiled = try CompiledRule(json: source)
        let keys = try [1, 2, 1].map { try compiled.collapseKey(ruleID: 1, event(["id": .number(JSONNumber($0))])) }
        #expect(keys[0] != nil && keys[0] == keys[2] && keys[0] != keys[1])
    }
}

struct ChannelTests {
    private func push(_ headers: JSONValue = [:], _ context: RenderContext = event()) throws -> RenderedPush {
        let message = liveMessage.applying(mergePatch: ["apns": ["headers": headers]])
        let compiled = try CompiledRule(json: source(to: ["channel": "{{channel}}"], message: message))
        var context = context
        context.payload["channel"] = "dGVzdA+/=="
        guard case .native(let audience) = compiled.audience else { throw RenderProblem.noContent(.apns) }
        return try compiled.render(context, to: audience.target(context))
    }

    @Test func broadcastsHaveTheirOwnHeaders() throws {
        let push = try push()
        #expect(
            push.headerLines == [
                "apns-channel-id: dGVzdA+/==", "apns-push-type: liveactivity", "apns-priority: 10",
                "apns-expiration: 0",
            ]
        )
        #expect(push.deliveryHeader == .apnsRequestID)
        #expect(try JSONValue(parsing: push.body) == liveMessage["apns"]?["payload"])
        #expect(try self.push(["apns-priority": "1"])[header: "apns-priority"] == "1")
        #expect(try self.push([:], event(expiration: 99))[header: "apns-expiration"] == "99")
    }

    @Test func channelIdsAreChecked() throws {
        let compiled = try CompiledRule(json: source(to: ["channel": "{{c}}"], message: liveMessage))
        guard case .native(let audience) = compiled.audience else { return #expect(Bool(false)) }
        for value in ["", "a b", "ñ", .string(String(repeating: "a", count: 513))] as [JSONValue] {
            #expect(throws: RenderProblem.header(name: "apns-channel-id", reason: "is not base64 text")) {
                try audience.target(event(["c": value]))
            }
        }
    }

    @Test(
        arguments: [
            (["headers": ["apns-topic": "x"]], "message.apns.headers.apns-topic", "is not used with a channel"),
            (
                ["headers": ["apns-collapse-id": "x"]], "message.apns.headers.apns-collapse-id",
                "is not used with a channel"
            ),
            (["headers": ["apns-channel-id": "x"]], "message.apns.headers.apns-channel-id", "is set by Fanfare"),
            (
                ["payload": ["aps": ["event": "start"]]], "message.apns.payload",
                "push type liveactivity disagrees with the payload: a broadcast cannot start an activity"
            ),
            (
                ["payload": ["a": .string(String(repeating: "x", count: 5100))]], "message.apns.payload",
                "the payload has at least 5179 bytes"
            ),
        ] as [(JSONValue, String, String)]
    )
    func refusedAtSave(patch: JSONValue, path: String, reason: String) {
        let message = liveMessage.applying(mergePatch: ["apns": patch])
        let found = problem(source(to: ["channel": "dGVzdA=="], message: message))
        #expect(found?.path == path && found?.reason == reason)
    }

    @Test func broadcastsMayBeLargerThanPushesToDevices() throws {
        let text = JSONValue.string(String(repeating: "x", count: 5000))
        let message = liveMessage.applying(mergePatch: ["apns": ["payload": ["a": text]]])
        _ = try CompiledRule(json: source(to: ["channel": "dGVzdA=="], message: message))
        let device = problem(source(to: ["users": "$.u", "kind": "live_activity"], message: message))
        #expect(device?.hint == "APNs takes at most 4096")
    }
}
