import Testing

@testable import FanfareCore
@testable import FanfareProviders

struct RuleDefinitionTests {
    @Test func readsEveryField() throws {
        let source = try json(
            #"""
            {"name": "order-shipped", "app": "shop", "event": "order.shipped",
             "when": "$.total > 10 && $.country == \"ES\"",
             "to": {"users": "$.customer_id", "devices": "$.tier == \"gold\"", "provider": "apns", "kind": "voip"},
             "message": {"notification": {"title": "Order {{order_id}}", "body": "On its way"},
                         "apns": {"payload": {"aps": {"sound": "default", "badge": "{{unread}}"}}},
                         "android": {"priority": "HIGH"}},
             "locales": {"es": {"notification": {"title": "Pedido {{order_id}}"}}},
             "collapse": "order-{{order_id}}", "ttl": "4h", "lane": "transactional", "supersede": true,
             "backlog": "latest_per_collapse", "delivery": "at_most_once", "enabled": false}
            """#
        )
        let rule = try RuleDefinition(json: source)
        #expect(rule.name == "order-shipped" && rule.app == "shop" && rule.event == "order.shipped")
        #expect(rule.when == #"$.total > 10 && $.country == "ES""#)
        #expect(rule.audience.selection == .users("$.customer_id"))
        #expect(rule.audience.devices == #"$.tier == "gold""#)
        #expect(rule.audience.provider == .apns && rule.audience.kind == .voip)
        #expect(rule.message.keys == ["notification", "apns", "android"])
        #expect(rule.locales.keys == ["es"])
        #expect(rule.collapse == "order-{{order_id}}" && rule.ttl?.seconds == 14_400 && rule.lane == .transactional)
        #expect(rule.supersede && rule.backlog == .latestPerCollapse && rule.delivery == .atMostOnce && !rule.enabled)
        #expect(rule.json == source)
        #expect(try RuleDefinition(json: rule.json) == rule)
        _ = try CompiledRule(definition: rule)
    }

    @Test func hasDefaults() throws {
        let definition = try RuleDefinition(json: rule())
        #expect(
            definition.lane == .normal && !definition.supersede && definition.backlog == .send && definition.enabled
        )
        #expect(definition.delivery == .atLeastOnce && definition.ttl == nil && definition.collapse == nil)
        #expect(definition.audience.kind == .device && definition.when == nil && definition.locales.isEmpty)
        #expect(definition.json == rule())
    }

    @Test(
        arguments: [
            (["users": "$.a"], .users("$.a")), (["tokens": "$.t[*]", "provider": "apns"], .tokens("$.t[*]")),
            (["topic": "team-{{id}}"], .topic("team-{{id}}")),
            (["condition": "'a' in topics"], .condition("'a' in topics")),
            (["everyone": true], .everyone),
        ] as [(JSONValue, AudienceDefinition.Selection)]
    )
    func readsAudiences(to: JSONValue, selection: AudienceDefinition.Selection) throws {
        let source = rule(["to": nil]).applying(mergePatch: ["to": to])
        let definition = try RuleDefinition(json: source)
        #expect(definition.audience.selection == selection)
        #expect(definition.json == source)
        let plan = try CompiledRule(definition: definition).audience
        #expect(plan.needsRendering == (selection == .topic("team-{{id}}")))
        if case .topic = plan { #expect(try plan.topicName(event(["id": 7])) == "team-7") }
    }

    @Test(
        arguments: [
            (["nam": "x"], "nam", "unknown key", "did you mean 'name'?"),
            (["colapse": "x"], "colapse", "unknown key", "did you mean 'collapse'?"),
            (["name": nil], "name", "is missing", RuleNames.ruleHint),
            (["app": ""], "app", "cannot be a name", RuleNames.appHint),
            (["event": 3], "event", "is not a string", RuleNames.eventTypeHint),
            (["to": nil], "to", "is missing", #"say which devices the rule reaches, as in {"users": "$.customer_id"}"#),
            (
                ["to": []], "to", "is not an object",
                #"say which devices the rule reaches, as in {"users": "$.customer_id"}"#
            ),
            (
                ["message": nil], "message", "is missing",
                #"say what to send, as in {"notification": {"title": "Hello"}}"#
            ),
            (["message": ["notification": nil]], "message", "is empty", "say what to send"),
            (
                ["ttl": "4 hours"], "ttl", "is not a duration",
                "write a whole number with s, m, h or d, such as 90s, 15m, 4h or 7d"
            ),
            (["ttl": 90], "ttl", "is not a duration", TimeSpan.hint),
            (["lane": "bluk"], "lane", "'bluk' is not one of its values", "did you mean 'bulk'?"),
            (
                ["backlog": "all"], "backlog", "'all' is not one of its values",
                "known are send, latest_per_collapse, drop"
            ),
            (
                ["delivery": "at_most_onec"], "delivery", "'at_most_onec' is not one of its values",
                "did you mean 'at_most_once'?"
            ),
            (["enabled": "yes"], "enabled", "is neither true nor false", "write true or false"),
            (["supersede": true], "supersede", "needs collapse", "say which events replace each other"),
            (["backlog": "latest_per_collapse"], "backlog", "needs collapse", "say which events replace each other"),
            (
                ["locales": "es"], "locales", "is not an object",
                #"write the parts that differ, as in {"es": {"notification": {"title": "Hola"}}}"#
            ),
            (["name": "a b"], "name", "cannot be a name", RuleNames.ruleHint),
            (["app": "sh.op"], "app", "cannot be a name", RuleNames.appHint),
            (["event": "a\nb"], "event", "cannot be a name", "use 1 to 255 bytes on one line, such as order.shipped"),
        ] as [(JSONValue, String, String, String)]
    )
    func refuses(patch: JSONValue, path: String, reason: String, hint: String) {
        #expect(problem(rule(patch)) == RuleProblem(path: path, reason: reason, hint: hint))
    }

    @Test(
        arguments: [
            ([:], "to", "names no audience"), (["users": "$.a", "topic": "b"], "to", "has users and topic"),
            (["users": "$.a", "users_sql": "SELECT 1"], "to", "has users and users_sql"),
            (["users_sql": "SELECT 1", "tokens": "$.t"], "to", "has users_sql and tokens"),
            (["users_sql": " \n"], "to.users_sql", "is empty"), (["users_sql": 1], "to.users_sql", "is not a string"),
            (
                ["users_sql": .string(String(repeating: "x", count: 16_385))], "to.users_sql",
                "is longer than 16384 bytes"
            ),
            (["everyone": false], "to.everyone", "is not true"), (["everyone": 1], "to.everyone", "is not true"),
            (["tokens": "$.t"], "to.provider", "is missing"), (["users": "$.a", "user": 1], "to.user", "unknown key"),
            (
                ["users": "$.a", "provider": "fcm", "kind": "voip"], "to.kind",
                "voip is a kind of apns tokens, not of fcm"
            ),
            (["users": "$.a", "provider": "ios"], "to.provider", "'ios' is not one of its values"),
            (["users": "$.a", "kind": "phone"], "to.kind", "'phone' is not one of its values"),
            (["topic": "a b"], "to.topic", "is not a topic name"),
            (["topic": "{{user.id}}"], "to.topic", "depends on a device"),
            (["topic": "{{>x}}"], "to.topic", "{{>x}} is a partial"),
            (["condition": "'a' in topics && "], "to.condition", "column 18: the condition ends too early"),
            (["users": "$.a", "devices": "$.**.**"], "to.devices", "has more than one **"),
        ] as [(JSONValue, String, String)]
    )
    func refusesAudiences(to: JSONValue, path: String, reason: String) {
        let found = problem(rule(["to": nil]).applying(mergePatch: ["to": to]))
        #expect(found?.path == path)
        #expect(found?.reason == reason)
        #expect(found?.hint.isEmpty == false)
    }

    @Test(arguments: [
        ("", "is empty"), ("   ", "is empty"), ("$x", "has a $variable"), ("$.a == $limit", "has a $variable"),
        (#"$"x y""#, "has a $variable"), ("$.**.a.**.b", "has more than one **"),
        (#"$.a == "x"#, "has a string that is not closed"),
        (String(repeating: "x", count: 5000), "is longer than 4096 bytes"),
        ("$.a /* ** */ ** **", "has more than one **"),
    ])
    func refusesPaths(path: String, reason: String) {
        let found = problem(rule(["when": .string(path)]))
        #expect(found?.path == "when")
        #expect(found?.reason == reason)
    }

    @Test(arguments: [
        "$.total > 10", "$[*].a", #"$.a == "$x ** ** \" $y""#, "$.**.b == 1", "$ == 1", "/* ** $x */ $.**.a == 2",
        #"$."a$b" == 1"#,
        "$.a ? (@.b like_regex \"^$\")", "strict $.a",
    ])
    func acceptsPaths(path: String) throws {
        #expect(try RuleDefinition(json: rule(["when": .string(path)])).when == path)
    }

    @Test(
        arguments: [
            ("90s", 90, "90s"), ("15m", 900, "15m"), ("4h", 14_400, "4h"), ("7d", 604_800, "7d"), ("60s", 60, "1m"),
            ("24h", 86_400, "1d"), ("1s", 1, "1s"), ("90m", 5400, "90m"),
        ] as [(String, Int64, String)]
    )
    func timeSpans(text: String, seconds: Int64, shortest: String) {
        #expect(TimeSpan(text)?.seconds == seconds)
        #expect(TimeSpan(seconds: seconds).description == shortest)
    }

    @Test(arguments: [
        "", "s", "0s", "-1s", "1.5h", "4", "4w", "4 h", "99999999999999999999s", "9223372036854775807d", "4000d", "٣s",
        "+4h",
    ])
    func noTimeSpans(text: String) {
        #expect(TimeSpan(text) == nil)
    }

    @Test func problemsReadWell() {
        #expect("\(RuleProblem(path: "to", reason: "names no audience", hint: "say"))" == "to: names no audience; say")
        #expect("\(RuleProblem(path: "", reason: "is a string"))" == "is a string")
        let text = String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
        let deep = try? JSONValue(parsing: text, limits: JSONLimits(bytes: 1000, levels: 100))
        #expect(deep.flatMap { problem($0) }?.reason == "has more than 64 levels")
        #expect(problem("x")?.reason == "is a string")
    }

    @Test func supersedingNeedsAPathThatCanBeFollowed() {
        let source = rule(["to": ["users": "$.a ? (@.b == 1)"], "collapse": "x"])
        #expect(problem(source.setting("supersede", to: true))?.path == "supersede")
        #expect(problem(source.setting("backlog", to: "latest_per_collapse"))?.path == "backlog")
        let reason = problem(source.setting("supersede", to: true))?.reason
        #expect(reason == "needs a plain path in to, which names the users of an event")
        let query = rule(["to": ["users": nil, "users_sql": "SELECT 1"], "collapse": "x"])
        #expect(throws: Never.self) { try CompiledRule(json: query) }
        #expect(problem(query.setting("supersede", to: true))?.path == "supersede")
    }

    @Test(arguments: [
        ("$.a", #"["x"]"#), (" $.b.c ", "[1]"), (#"$."d e""#, "[2]"), ("$.l", "[[3,4]]"), ("$.l[*]", "[3,4]"),
        ("$.o.p", "[5,6]"), ("$.o[*].p", "[5,6]"), ("$.a[*]", #"["x"]"#), ("$.z", "[]"), ("$.a.z", "[]"),
        ("$.ñ_1", "[7]"),
    ])
    func followsPlainPaths(path: String, expected: String) throws {
        let payload = try json(#"{"a":"x","b":{"c":1},"d e":2,"l":[3,4],"o":[{"p":5},{"p":6}],"ñ_1":7}"#)
        #expect(try MemberPath(path).map { JSONValue.array($0.values(in: payload)) } == json(expected))
    }

    @Test(arguments: [
        "", "a", "$a", "$.a + 1", "$.a[0]", "$.*", "$.**", "strict $.a", "$.a()", "$.", "$ .a", #"$."a\n""#, #"$."a"#,
    ])
    func doesNotFollowOthers(path: String) {
        #expect(MemberPath(path) == nil)
    }
}
