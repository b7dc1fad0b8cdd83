import FanfareCore
import Testing

@testable import FanfareProviders

/// Returns a payload that suits a kind of token.
private func payload(_ kind: DeviceKind) -> JSONValue {
    switch kind {
    case .mdm: ["mdm": "magic"]
    case .fileProvider: ["container-identifier": "c", "domain": "d"]
    case .liveActivity: ["aps": ["timestamp": 1, "event": "update", "content-state": [:]]]
    case .liveActivityStart: ["aps": start]
    case .widget, .control: ["aps": ["content-changed": true]]
    case .device: ["aps": ["alert": "x"]]
    case .voip, .complication, .location, .pushToTalk: ["aps": [:], "call": "c"]
    }
}

private let start: JSONValue = [
    "timestamp": 1, "event": "start", "content-state": ["a": 1], "attributes-type": "T", "attributes": ["b": 2],
    "alert": ["title": "x"],
]

private func source(_ kind: DeviceKind, headers: JSONValue = [:], _ patch: JSONValue = [:]) -> JSONValue {
    let message: JSONValue = ["apns": ["headers": headers, "payload": payload(kind)]]
    return rule(message: message, patch).setting("to", to: ["users": "$.u", "kind": .string(kind.rawValue)])
}

struct APNsPushTypeTests {
    @Test(
        arguments: [
            (.voip, "voip", ".voip"), (.liveActivity, "liveactivity", ".push-type.liveactivity"),
            (.liveActivityStart, "liveactivity", ".push-type.liveactivity"),
            (.complication, "complication", ".complication"),
            (.fileProvider, "fileprovider", ".pushkit.fileprovider"), (.location, "location", ".location-query"),
            (.pushToTalk, "pushtotalk", ".voip-ptt"), (.widget, "widgets", ".push-type.widgets"),
            (.control, "controls", ".push-type.controls"), (.mdm, "mdm", ""), (.device, "alert", ""),
        ] as [(DeviceKind, String, String)]
    )
    func kindsDecideTypeTopicAndPriority(kind: DeviceKind, type: String, suffix: String) throws {
        let push = try source(kind).push(.apns, kind: kind)
        #expect(push[header: "apns-push-type"] == type)
        #expect(push[header: "apns-topic"] == "com.example.shop" + suffix)
        #expect(push[header: "apns-priority"] == "10")
        #expect(push.deliveryHeader == .apnsID && push.bodySuffix.isEmpty)
    }

    @Test(
        arguments: [
            (.device, ["10", "5", "1"]), (.voip, ["10"]), (.pushToTalk, ["10"]), (.location, ["10", "5"]),
            (.liveActivity, ["10", "5"]), (.liveActivityStart, ["10", "5"]), (.complication, ["10", "5", "1"]),
            (.fileProvider, ["10", "5", "1"]), (.mdm, ["10", "5", "1"]), (.widget, ["10", "5", "1"]),
            (.control, ["10", "5", "1"]),
        ] as [(DeviceKind, [String])]
    )
    func prioritiesOfTheTable(kind: DeviceKind, allowed: [String]) throws {
        for priority in ["10", "5", "1"] {
            let source = source(kind, headers: ["apns-priority": .string(priority)])
            if allowed.contains(priority) {
                #expect(try source.push(.apns, kind: kind)[header: "apns-priority"] == priority)
            } else {
                #expect(problem(source)?.path == "message.apns.headers.apns-priority")
            }
        }
    }

    @Test(
        arguments: [
            (.device, nil, nil, nil), (.voip, nil, nil, "0"), (.voip, nil, 99, "99"), (.voip, "5", 99, "5"),
            (.pushToTalk, nil, nil, "0"), (.pushToTalk, nil, 99, "0"), (.pushToTalk, "0", 99, "0"),
            (.liveActivity, nil, nil, nil), (.liveActivity, nil, 99, "99"),
        ] as [(DeviceKind, String?, Int64?, String?)]
    )
    func callsAreNotStoredUnlessAsked(kind: DeviceKind, header: String?, deadline: Int64?, expected: String?) throws {
        let headers = header.map { ["apns-expiration": .string($0)] as JSONValue } ?? [:]
        let push = try source(kind, headers: headers).push(.apns, event(expiration: deadline), kind: kind)
        #expect(push[header: "apns-expiration"] == expected)
    }

    /// Emitted at 1,000 s: the header's expiration counts if it is earlier than the event's, and 0 if that has none.
    @Test(
        arguments: [
            (.device, nil, nil, nil), (.device, nil, 2000, nil), (.device, "0", nil, 1030), (.device, "0", 2000, nil),
            (.device, "1500", nil, 1500), (.device, "1500", 2000, 1500), (.device, "2500", 2000, nil),
            (.voip, nil, nil, 1030), (.voip, nil, 2000, nil), (.voip, "1500", nil, 1500),
            (.pushToTalk, nil, nil, 1030), (.pushToTalk, nil, 2000, nil),
        ] as [(DeviceKind, String?, Int64?, Int64?)]
    )
    func retriesEndWithTheHeader(kind: DeviceKind, header: String?, deadline: Int64?, expected: Int64?) throws {
        let headers = header.map { ["apns-expiration": .string($0)] as JSONValue } ?? [:]
        var context = event(expiration: deadline)
        context.time = 1000
        let push = try source(kind, headers: headers).push(.apns, context, kind: kind)
        #expect(push.endsAt == expected.map { $0 * Micros.second })
    }

    @Test func pushToTalkIsNeverStored() {
        let found = problem(source(.pushToTalk, headers: ["apns-expiration": "60"]))
        #expect(found?.reason == #"only "0" goes with push type pushtotalk"#)
    }

    @Test(
        arguments: [
            (
                "file_provider", ["aps": [:]],
                "push type fileprovider disagrees with the payload: it has no container-identifier"
            ),
            ("mdm", ["a": 1], "push type mdm disagrees with the payload: it has no mdm"),
            ("mdm", ["mdm": "m", "aps": [:]], "push type mdm disagrees with the payload: it has aps"),
            ("widget", ["aps": [:]], "push type widgets disagrees with the payload: aps.content-changed is not true"),
        ] as [(String, JSONValue, String)]
    )
    func payloadsThatDisagree(kind: String, payload: JSONValue, reason: String) {
        let source = rule(message: ["apns": ["payload": payload]], ["to": ["kind": .string(kind)]])
        #expect(problem(source)?.reason == reason)
    }
}

struct LiveActivityTests {
    private func problem(_ kind: String, _ aps: JSONValue) -> String? {
        let source = rule(message: ["apns": ["payload": ["aps": aps]]], ["to": ["kind": .string(kind)]])
        do {
            _ = try CompiledRule(json: source)
            return nil
        } catch {
            let prefix = "push type liveactivity disagrees with the payload: "
            let reason = error.reason
            return reason.hasPrefix(prefix) ? String(reason.dropFirst(prefix.count)) : reason
        }
    }

    @Test(
        arguments: [
            (["timestamp": nil], "aps has no timestamp"), (["event": nil], "aps has no event"),
            (["event": "go"], "aps.event is not start, update or end"),
            (["content-state": nil], "aps has no content-state"),
            (["timestamp": "1"], "is a string"),
            (["timestamp": 1_790_000_000_000], "is 1790000000000"),
            (["stale-date": "x"], "is a string"),
            (["dismissal-date": 5], "aps.dismissal-date goes with end only"),
            (["attributes": [:]], "aps.attributes goes with start only"),
            (["input-push-token": 1], "aps.input-push-token goes with start only"),
            (["event": "start"], "an update token cannot start an activity"),
            ([:], nil), (["timestamp": "{{event.time}}", "event": "{{e}}"], nil),
            (["stale-date": 9, "relevance-score": 50, "alert": ["title": "x"]], nil),
            (["event": "end", "dismissal-date": "{{t}}", "content-state": nil], nil),
            (["event": "end", "dismissal-date": 1_790_000_000], nil),
        ] as [(JSONValue, String?)]
    )
    func updatesAndEnds(patch: JSONValue, reason: String?) {
        let update: JSONValue = ["timestamp": 1, "event": "update", "content-state": ["a": 1]]
        #expect(problem("live_activity", update.applying(mergePatch: patch)) == reason)
    }

    @Test(
        arguments: [
            ([:], nil), (["input-push-token": 1, "stale-date": 7], nil),
            (["alert": nil], "aps has no alert, which start needs"),
            (["attributes-type": nil], "aps has no attributes-type, which start needs"),
            (["attributes": nil], "aps has no attributes, which start needs"),
            (["content-state": nil], "aps has no content-state, which start needs"),
            (["dismissal-date": 5], "aps.dismissal-date goes with end only"),
            (["event": "update"], "a push-to-start token only starts activities"),
        ] as [(JSONValue, String?)]
    )
    func starts(patch: JSONValue, reason: String?) {
        #expect(problem("live_activity_start", start.applying(mergePatch: patch)) == reason)
    }

    @Test func theTimestampComesFromTheEvent() throws {
        let aps: JSONValue = ["timestamp": "{{event.time}}", "event": "update", "content-state": ["a": "{{n}}"]]
        let source = rule(message: ["apns": ["payload": ["aps": aps]]], ["to": ["kind": "live_activity"]])
        var context = event(["n": 4])
        #expect(throws: RenderProblem.missing(name: "event.time")) {
            try source.push(.apns, context, kind: .liveActivity)
        }
        context.time = 1_790_000_000
        let push = try source.push(.apns, context, kind: .liveActivity)
        let rendered = try JSONValue(parsing: push.body)["aps"]
        #expect(rendered == ["timestamp": 1_790_000_000, "event": "update", "content-state": ["a": 4]])
    }

    @Test func theNewestStateWinsUnlessSaidOtherwise() throws {
        let live: JSONValue = ["to": ["kind": "live_activity"], "collapse": "m-{{id}}"]
        let implied = try RuleDefinition(json: rule(live))
        #expect(implied.supersede && implied.dropsOlder && implied.json == rule(live))
        let kept = rule(live).setting("supersede", to: false)
        #expect(try !RuleDefinition(json: kept).supersede && RuleDefinition(json: kept).json == kept)
        #expect(try !RuleDefinition(json: rule(["to": ["kind": "live_activity"]])).supersede)
        #expect(try !RuleDefinition(json: rule(["collapse": "x"])).supersede)
        let untraceable = rule(live.applying(mergePatch: ["to": ["users": "$.a ? (@.b == 1)"]]))
        #expect(try !RuleDefinition(json: untraceable).supersede)
    }
}
