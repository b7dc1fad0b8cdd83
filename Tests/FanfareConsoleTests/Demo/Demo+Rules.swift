@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static func rule(_ name: String, _ event: String, _ badge: Badge, _ accepted: Int64, reason: String? = nil)
        -> RuleLine
    {
        RuleLine(
            name: name,
            app: "shop",
            href: "/rules/shop/\(name)",
            event: event,
            audience: "users $.customer_id",
            badge: badge,
            reason: reason,
            version: "12",
            changed: ago(90_000, .short),
            accepted: FigureText.count(accepted),
            spark: Sparkline.markup(wander(28, around: Double(accepted), by: 0.3, seed: UInt64(accepted)))
        )
    }

    static let rules = RuleListPage(
        frame: frame("Rules", "Rules"),
        filter: FilterForm(
            action: "/rules",
            fields: [
                choice("app", "App", ["all", "shop", "sender"], chosen: "all"),
                choice("state", "State", ["all", "active", "refused", "unchecked", "disabled"], chosen: "all"),
                FilterField(text: TextField(name: "event", label: "Event type", value: "", kind: "search")),
            ],
            active: [],
            clear: "/rules",
            isActive: false
        ),
        rows: [
            rule(
                "order-shipped",
                "order.shipped",
                Badge(.bad, "refused"),
                412_018,
                reason: "version 13, line 7: $.total is compared with text; version 12 stays in force"
            ),
            rule("order-delivered", "order.delivered", Badge(.good, "active"), 398_224),
            rule("chat-message", "chat.message", Badge(.good, "active"), 2_904_112),
            rule("price-dropped", "price.dropped", Badge(.quiet, "disabled"), 0),
            rule("sender-route", "route.changed", Badge(.busy, "unchecked"), 12_004),
        ],
        pager: Pager(shown: "5 rules", first: nil, next: nil, searchedTo: nil, further: nil),
        empty: nil
    )

    static let rule = RulePage(
        frame: frame("order-shipped", "Rules", parent: PageLink(name: "Rules", href: "/rules")),
        badge: Badge(.warn, "version 12 in force, 13 refused"),
        facts: [
            Fact(name: "App", words: "shop"), Fact(name: "Event", code: "order.shipped"),
            Fact(name: "Audience", words: "users $.customer_id"),
            Fact(name: "Lane", words: "transactional"), Fact(name: "Ttl", words: "4 h"),
            Fact(name: "From", words: "rules/shop.yaml"),
        ],
        refusal: Notice(
            .bad,
            "Version 13 is refused. when, line 7: $.total is compared with text. Write $.total > 10, without quotation marks."
        ),
        outcomes: [
            outcome(.good, "accepted", nil, .accepted, 412_018, of: 418_822),
            outcome(.quiet, "gone", "Unregistered", .gone, 6_002, of: 418_822),
            outcome(.quiet, "expired", nil, .own, 802, of: 418_822),
        ],
        reports: reports("Day (UTC)", "2026-11-28", accepted: 412_018),
        versions: [
            RuleVersionLine(
                version: "13",
                href: "/rules/shop/order-shipped?version=13",
                badge: Badge(.bad, "refused"),
                reason: "when, line 7",
                made: ago(5_400, .short),
                retired: nil,
                isShown: true
            ),
            RuleVersionLine(
                version: "12",
                href: "/rules/shop/order-shipped?version=12",
                badge: Badge(.good, "active"),
                reason: nil,
                made: ago(905_400, .short),
                retired: nil,
                isShown: false
            ),
            RuleVersionLine(
                version: "11",
                href: "/rules/shop/order-shipped?version=11",
                badge: Badge(.quiet, "retired"),
                reason: nil,
                made: ago(4_905_400, .short),
                retired: ago(905_400, .short),
                isShown: false
            ),
        ],
        definition:
            "name: order-shipped\napp: shop\nevent: order.shipped\nwhen: $.total > \"10\" && $.country == \"ES\"\nto: { users: $.customer_id }\nmessage:\n  notification: { title: \"Order {{order_id}}\", body: \"On its way\" }\ncollapse: \"order-{{order_id}}\"\nttl: 4h\nlane: transactional\n",
        difference: [
            DifferenceLine(kind: "same", sign: " ", words: "event: order.shipped"),
            DifferenceLine(kind: "removed", sign: "\u{2212}", words: "when: $.total > 10 && $.country == \"ES\""),
            DifferenceLine(kind: "added", sign: "+", words: "when: $.total > \"10\" && $.country == \"ES\""),
            DifferenceLine(kind: "same", sign: " ", words: "to: { users: $.customer_id }"),
        ],
        explain: ExplainPanel(
            action: "/rules/shop/order-shipped/explain",
            payload:
                "{\n  \"order_id\": 90210,\n  \"customer_id\": \"customer-4410\",\n  \"total\": 49.90,\n  \"country\": \"ES\"\n}",
            problem: nil,
            user: TextField(
                name: "user",
                label: "As this user sees it",
                value: "customer-4410",
                example: "any",
                hint: "For preferences, locale and quiet hours"
            ),
            seal: "sealed",
            verdict: Notice(.good, "Version 12 would match: 3 devices, 1 held out."),
            conditions: [
                WhyCondition(badge: Badge(.good, "true"), code: "$.total > 10"),
                WhyCondition(badge: Badge(.good, "true"), code: "$.country == \"ES\""),
            ],
            audience: [
                AudienceLine(
                    app: "shop",
                    provider: "apns",
                    environment: "production",
                    devices: "2",
                    accepted: "–",
                    failed: "–",
                    bar: .none
                ),
                AudienceLine(
                    app: "shop",
                    provider: "webpush",
                    environment: "production",
                    devices: "1",
                    accepted: "–",
                    failed: "–",
                    bar: .none
                ),
            ],
            previews: previews
        )
    )
}
