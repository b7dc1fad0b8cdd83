import FanfareCore
import PayloadFixtures
import Testing

@testable import FanfareProviders

struct CompiledRuleTests {
    func push(
        _ source: JSONValue,
        _ context: RenderContext = event(),
        kind: DeviceKind = .device,
        locale: String? = nil,
        device: DeviceContext? = nil
    ) throws -> RenderedPush {
        try CompiledRule(json: source)
            .render(
                context,
                provider: .apns,
                kind: kind,
                locale: locale,
                identity: .init(topic: "com.example.shop"),
                device: device
            )
    }

    func body(_ push: RenderedPush) throws -> JSONValue { try JSONValue(parsing: push.body) }

    @Test(arguments: APNsFixtures.payloads)
    func payloadsPassUnchanged(name: String, text: String) throws {
        let payload = try json(text)
        let push = try push(rule(message: ["apns": ["payload": payload]]))
        #expect(try body(push) == payload)
        #expect(push.body == payload.encoded)
        let isBackground = name == "background"
        #expect(push[header: "apns-push-type"] == (isBackground ? "background" : "alert"))
        #expect(push[header: "apns-priority"] == (isBackground ? "5" : "10"))
        #expect(push[header: "apns-topic"] == "com.example.shop")
    }

    /// Each text is within its own limit, so only the limit for the whole message applies.
    @Test(arguments: [PushProvider.apns, .fcm])
    func aWholeMessageIsBounded(provider: PushProvider) throws {
        var data = JSONObject()
        for number in 0..<20 { data["d\(number)"] = "{{long}}" }
        let source = rule(message: ["notification": ["title": "T"], "data": .object(data)])
        let long = event(["long": .string(String(repeating: "l", count: 20_000))])
        #expect(throws: RenderProblem.tooLong(limit: 65_536)) {
            try CompiledRule(json: source).render(
                long,
                provider: provider,
                kind: .device,
                locale: nil,
                identity: .init(topic: "t"),
                device: nil
            )
        }
    }

    @Test func silentMessageWithData() throws {
        let message: JSONValue = [
            "data": ["key1": "some_value"], "android": ["priority": "HIGH"],
            "apns": [
                "headers": ["apns-priority": "5", "apns-push-type": "background"],
                "payload": ["aps": ["content-available": 1]],
            ],
        ]
        let push = try push(rule(message: message))
        #expect(try body(push) == ["key1": "some_value", "aps": ["content-available": 1]])
        #expect(push[header: "apns-push-type"] == "background")
        #expect(push[header: "apns-priority"] == "5")
    }

    /// As FCM handles it on Apple's platforms: the device would drop an alert without content.
    @Test(
        arguments: [
            [:], ["headers": ["apns-priority": "5"]], ["headers": ["apns-push-type": "background"]],
            ["payload": ["b": 2]],
        ] as [JSONValue]
    )
    func dataAloneIsASilentPush(apns: JSONValue) throws {
        let push = try push(rule(message: ["data": ["a": "{{n}}"], "apns": apns]), event(["n": 3]))
        #expect(try body(push)["aps"] == ["content-available": 1])
        #expect(try body(push)["a"] == "3")
        #expect(push[header: "apns-push-type"] == "background")
        #expect(push[header: "apns-priority"] == "5")
    }

    /// Members beside the data determine the push type.
    @Test(
        arguments: [
            (["payload": ["aps": ["badge": 1]]], "10", ["badge": 1]),
            (["payload": ["aps": ["category": "c"]]], "10", ["category": "c"]), (["payload": ["aps": nil]], "10", nil),
        ] as [(JSONValue, String, JSONValue?)]
    )
    func dataBesideSomethingElseIsAnAlert(apns: JSONValue, priority: String, aps: JSONValue?) throws {
        let push = try push(rule(message: ["data": ["a": "b"], "apns": apns]))
        #expect(try body(push)["aps"] == aps)
        #expect(push[header: "apns-push-type"] == "alert")
        #expect(push[header: "apns-priority"] == priority)
    }

    @Test func dataForACallIsNotSilent() throws {
        let call = rule(message: ["data": ["a": "b"]]).setting("to", to: ["users": "$.u", "kind": "voip"])
        let ring = try push(call, kind: .voip)
        #expect(try body(ring) == ["a": "b"] && ring[header: "apns-push-type"] == "voip")
    }

    @Test func aLocaleThatShowsSomethingIsNoSilentPush() throws {
        let source = rule(message: ["data": ["a": "b"]], ["locales": ["es": ["notification": ["title": "Ñ"]]]])
        #expect(try push(source)[header: "apns-push-type"] == "background")
        let shown = try push(source, locale: "es")
        #expect(shown[header: "apns-push-type"] == "alert")
        #expect(try body(shown) == ["aps": ["alert": ["title": "Ñ"]], "a": "b"])
    }

    @Test func nullsAreTakenOut() throws {
        let payload = try json(#"{"z":null,"aps":{"alert":null,"badge":1,"volume":1.0},"l":[null]}"#)
        let source = rule(message: ["apns": ["payload": payload]])
        let left = try json(#"{"aps":{"badge":1,"volume":1.0},"l":[null]}"#)
        #expect(try push(source).body == left.encoded)
        #expect(try source.message() == ["apns": ["payload": left]])
    }

    @Test func mergesInOrder() throws {
        let message: JSONValue = [
            "notification": ["title": "T", "body": "B", "image": "https://example.com/i.png"],
            "data": ["room": "r1", "n": "{{n}}"],
            "apns": ["payload": ["aps": ["alert": ["subtitle": "S", "body": nil], "badge": "{{n}}"], "room": "r2"]],
        ]
        let expected: JSONValue = [
            "aps": ["alert": ["title": "T", "subtitle": "S"], "mutable-content": 1, "badge": 3],
            "fcm_options": ["image": "https://example.com/i.png"], "room": "r2", "n": "3",
        ]
        #expect(try body(push(rule(message: message), event(["n": 3]))) == expected)
        let replaced = message.applying(mergePatch: ["apns": ["payload": ["aps": ["alert": "plain"]]]])
        #expect(try body(push(rule(message: replaced), event(["n": 3])))["aps"]?["alert"] == "plain")
    }

    @Test func imageOfTheAPNsBlockWins() throws {
        let message: JSONValue = [
            "notification": ["title": "T", "image": "a"],
            "apns": ["payload": ["aps": ["mutable-content": 1]], "fcm_options": ["image": "b"]],
        ]
        let expected: JSONValue = [
            "aps": ["alert": ["title": "T"], "mutable-content": 1], "fcm_options": ["image": "b"],
        ]
        #expect(try body(push(rule(message: message))) == expected)
    }

    @Test func localesOverlay() throws {
        let source = rule([
            "message": [
                "apns": ["payload": ["aps": ["alert": ["title": "P"], "badge": 1]], "headers": ["apns-priority": "5"]]
            ],
            "locales": [
                "es": ["notification": ["title": "Pedido {{order_id}}", "body": nil]],
                "zh-Hant": [
                    "apns": ["payload": ["aps": ["alert": "字", "badge": nil]], "headers": ["apns-priority": nil]]
                ],
            ],
        ])
        let context = event(["order_id": "A1"])
        #expect(try body(push(source, context))["aps"]?["alert"] == ["title": "P", "body": "On its way"])
        #expect(try body(push(source, context, locale: "es-MX"))["aps"]?["alert"] == ["title": "Pedido A1"])
        #expect(try body(push(source, context, locale: "zh_Hant_TW")) == ["aps": ["alert": "字"]])
        #expect(try push(source, context, locale: "zh-Hant")[header: "apns-priority"] == "10")
        #expect(try push(source, context, locale: "es")[header: "apns-priority"] == "5")
    }

    @Test(
        arguments: [
            ("es-MX", "es"), ("ES", "es"), ("es_MX.UTF", nil), ("en", nil), (nil, nil), ("", nil), ("-", nil),
            ("zh-Hant-x-private", "zh-Hant"), ("zh-Hans", nil), ("es-a-b", "es"), ("est", nil),
        ] as [(String?, String?)]
    )
    func looksLocalesUp(locale: String?, tag: String?) throws {
        let compiled = try CompiledRule(json: rule(["locales": ["es": [:], "zh-Hant": [:]]]))
        #expect(compiled.matchedLocale(for: locale) == (locale == "es_MX.UTF" ? "es" : tag))
    }

    @Test func headersOfTheRule() throws {
        let source = rule([
            "collapse": "order-{{order_id}}", "ttl": "4h",
            "message": ["apns": ["headers": ["APNS-Priority": "1", "apns-topic": "other.{{order_id}}"]]],
        ])
        let push = try push(source, event(["order_id": 7], expiration: 1_800_000_000))
        let headers = push.headers.map { "\($0.name): \($0.value)" }
        #expect(
            headers == [
                "apns-topic: other.7", "apns-push-type: alert", "apns-priority: 1", "apns-expiration: 1800000000",
                "apns-collapse-id: order-7",
            ]
        )
        #expect(push.headers.allSatisfy { $0.name != "apns-id" && $0.name != "authorization" })
    }

    @Test(
        arguments: [
            (nil, nil, nil), (nil, 5, "5"), ("0", nil, "0"), ("0", 1_800_000_000, "0"),
            ("1900000000", 1_800_000_000, "1800000000"),
            ("1700000000", 1_800_000_000, "1700000000"), (nil, -5, "0"),
        ] as [(String?, Int64?, String?)]
    )
    func expiration(header: String?, deadline: Int64?, expected: String?) throws {
        let headers = header.map { ["apns-expiration": .string($0)] as JSONValue } ?? [:]
        let source = rule(message: ["notification": ["title": "x"], "apns": ["headers": headers]])
        #expect(try push(source, event(expiration: deadline))[header: "apns-expiration"] == expected)
    }

    @Test(arguments: ["a\r\nauthorization: x", "ñ", "\u{0}", "مرحبا", " x", String(repeating: "x", count: 80)])
    func collapseIDsThatCannotBeSentAreHashed(value: String) throws {
        let hash = WebPushTopic.hash(collapse: value, app: "shop")
        let source = rule(["collapse": "{{id}}", "message": ["notification": ["title": "x"]]])
        #expect(try push(source, event(["id": .string(value)]))[header: "apns-collapse-id"] == hash)
        let own = rule(headers: ["apns-collapse-id": "{{id}}"], payload: ["aps": ["alert": "x"]])
        #expect(try push(own, event(["id": .string(value)]))[header: "apns-collapse-id"] == hash)
        let message = try source.message(event(["id": .string(value)]))
        #expect(message["android"]?["collapse_key"] == .string(hash))
        #expect(message["apns"]?["headers"]?["apns-collapse-id"] == .string(hash))
    }

    @Test func anEmptyCollapseIDIsNone() throws {
        let source = rule(["collapse": "{{id}}", "supersede": true, "message": ["notification": ["title": "x"]]])
        let empty = event(["id": "", "customer_id": "ann"])
        #expect(try push(source, empty)[header: "apns-collapse-id"] == nil)
        #expect(try source.message(empty).objectValue?.keys == ["notification"])
        #expect(try source.push(.webpush, empty)[header: "topic"] == nil)
        let compiled = try CompiledRule(json: source)
        #expect(try compiled.collapseKey(ruleID: 1, empty) == nil)
        #expect(try compiled.collapseKey(ruleID: 1, event(["id": "a", "customer_id": "ann"])) != nil)
    }

    @Test func payloadsThatGrowTooLarge() throws {
        let text = JSONValue.string(String(repeating: "é", count: 2030))
        let source = rule(message: ["notification": ["title": "{{t}}"]])
        let size = #"{"aps":{"alert":{"title":""}}}"#.utf8.count + 4060
        #expect(try push(source, event(["t": text])).body.count == size)
        let larger = JSONValue.string(String(repeating: "\"", count: 2040))
        #expect(throws: RenderProblem.tooLarge(bytes: 30 + 4080, limit: 4096)) {
            try push(source, event(["t": larger]))
        }
    }

    @Test func missingNamesRefuse() throws {
        #expect(throws: RenderProblem.missing(name: "order_id")) { try push(rule()) }
        #expect(throws: RenderProblem.missing(name: "order_id")) { try push(rule(), event(["order_id": nil])) }
        #expect(throws: RenderProblem.missing(name: "c")) {
            try push(rule(["collapse": "{{c}}"]), event(["order_id": 1]))
        }
    }

    @Test func valuesCannotBreakTheDocument() throws {
        let nasty = JSONValue.string(#"","x":"{{y}}</script>\"# + "\u{1}\n")
        let push = try push(rule(), event(["order_id": nasty]))
        #expect(try body(push)["aps"]?["alert"]?["title"] == .string("Order " + (nasty.stringValue ?? "")))
        let sections = rule(message: ["notification": ["title": "{{#a}}{{a}}{{/a}}"]])
        #expect(try body(self.push(sections, event(["a": nasty])))["aps"]?["alert"]?["title"] == nasty)
    }

    @Test func typesSurviveOnlyInPayloads() throws {
        let message: JSONValue = [
            "notification": ["title": "{{n}}"], "data": ["d": "{{n}}"],
            "apns": ["payload": ["aps": ["relevance-score": "{{n}}", "x": "{{o}}", "n": "{{count(l)}}"]]],
        ]
        let payload = try json(#"{"n":1.50,"o":{"b":[1e2]},"l":[1,2]}"#)
        let push = try push(rule(message: message), event(payload))
        #expect(
            String(decoding: push.body, as: UTF8.self)
                == #"{"aps":{"alert":{"title":"1.50"},"relevance-score":1.50,"x":{"b":[1e2]},"n":2},"d":"1.50"}"#
        )
    }

    @Test func perDevice() throws {
        let source = rule(message: ["notification": ["title": "Hi {{user.id}}"]])
        let compiled = try CompiledRule(json: source)
        #expect(compiled.needsDevice)
        #expect(try !CompiledRule(json: rule()).needsDevice)
        #expect(
            try CompiledRule(json: rule(["locales": ["es": ["notification": ["body": "{{device.id}}"]]]])).needsDevice
        )
        #expect(throws: RenderProblem.deviceNeeded) { try push(source) }
        let device = DeviceContext(deviceID: 1, userID: "Ana")
        #expect(try body(push(source, device: device))["aps"]?["alert"]?["title"] == "Hi Ana")
        #expect(throws: RenderProblem.missing(name: "user.id")) { try push(source, device: DeviceContext(deviceID: 1)) }
    }

    @Test func providersWithoutContentRefuse() throws {
        let source = rule(message: ["apns": ["payload": ["aps": ["alert": "x"]]]])
        let compiled = try CompiledRule(json: source)
        #expect(throws: RenderProblem.noContent(.webpush)) {
            try compiled.render(event(), provider: .webpush, kind: .device, locale: nil, identity: .init(topic: ""))
        }
        let locales: JSONValue = ["locales": ["es": ["notification": ["title": "x"]]]]
        let spanish = try CompiledRule(json: rule(message: ["android": ["priority": "HIGH"]], locales))
        for provider in Providers.names {
            #expect(throws: RenderProblem.noContent(provider)) {
                try spanish.render(event(), provider: provider, kind: .device, locale: nil, identity: .init(topic: "t"))
            }
            _ = try spanish.render(
                event(),
                provider: provider,
                kind: .device,
                locale: "es",
                identity: .init(topic: "t")
            )
        }
        for provider in [PushProvider.fcm, .webpush] {
            #expect(throws: RenderProblem.noContent(provider)) {
                try spanish.render(event(), provider: provider, kind: .voip, locale: "es", identity: .init(topic: "t"))
            }
        }
    }

    @Test func collapseKeys() throws {
        let plain = try CompiledRule(json: rule(["collapse": "{{id}}"]))
        #expect(try plain.collapseKey(ruleID: 1, event(["id": 1])) == nil)
        let users = try CompiledRule(json: rule(["collapse": "{{id}}", "supersede": true]))
        let toAna = try users.collapseKey(ruleID: 1, event(["id": 1, "customer_id": "ana"]))
        #expect(toAna != nil)
        #expect(try toAna == users.collapseKey(ruleID: 1, event(["id": 1, "customer_id": "ana", "x": 1])))
        #expect(try toAna != users.collapseKey(ruleID: 1, event(["id": 1, "customer_id": "bob"])))
        let source = rule(["collapse": "{{id}}", "supersede": true, "to": ["users": nil, "topic": "t-{{team}}"]])
        let rule = try CompiledRule(json: source)
        let key = try rule.collapseKey(ruleID: 1, event(["id": 1, "team": 2]))
        #expect(key != nil)
        #expect(try key == rule.collapseKey(ruleID: 1, event(["id": 1, "team": 2, "x": 3])))
        #expect(try key != rule.collapseKey(ruleID: 1, event(["id": 1, "team": 3])))
        #expect(try key != rule.collapseKey(ruleID: 1, event(["id": 2, "team": 2])))
        #expect(throws: RenderProblem.missing(name: "id")) { try rule.collapseKey(ruleID: 1, event(["team": 2])) }
    }
}
