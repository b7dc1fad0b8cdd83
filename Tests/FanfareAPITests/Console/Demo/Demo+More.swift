@testable import FanfareAPI

extension Demo {
    static let devices = DevicesPage(
        frame: frame("Devices", "Devices", stream: "/console/stream?page=devices"),
        filter: FilterForm(
            action: "/devices",
            fields: [
                choice("app", "App", ["all", "shop", "courier"], chosen: "shop"),
                choice("platform", "Platform", ["all", "apns", "fcm", "webpush", "webhook"], chosen: "all"),
                choice("state", "State", ["all", "enabled", "disabled"], chosen: "disabled"),
                choice("reason", "Reason", ["all", "Unregistered", "BadDeviceToken", "unregistered"], chosen: "BadDeviceToken"),
                FilterField(text: TextField(name: "since", label: "Disabled since (UTC)", value: "2026-11-26T12:00", kind: "datetime-local")),
            ],
            active: [
                PageLink(name: "app shop", href: "/devices?1"), PageLink(name: "disabled", href: "/devices?2"),
                PageLink(name: "reason BadDeviceToken", href: "/devices?3"),
            ],
            clear: "/devices",
            isActive: true
        ),
        counts: [
            DeviceCountRow(app: "shop", platform: "apns", environment: "production", href: "/devices?app=shop&platform=apns", enabled: "1,204,118", disabled: "88,201", share: "93.2 %", bar: ShareBar.markup([(.accepted, 1_204_118), (.gone, 88_201)], of: 1_292_319)),
            DeviceCountRow(app: "shop", platform: "fcm", environment: "production", href: "/devices?app=shop&platform=fcm", enabled: "980,377", disabled: "141,022", share: "87.4 %", bar: ShareBar.markup([(.accepted, 980_377), (.gone, 141_022)], of: 1_121_399)),
            DeviceCountRow(app: "shop", platform: "webpush", environment: "production", href: "/devices?app=shop&platform=webpush", enabled: "221,904", disabled: "64,120", share: "77.6 %", bar: ShareBar.markup([(.accepted, 221_904), (.gone, 64_120)], of: 286_024)),
            DeviceCountRow(app: "courier", platform: "apns", environment: "production", href: "/devices?app=courier", enabled: "1,890", disabled: "12", share: "99.4 %", bar: ShareBar.markup([(.accepted, 1_890), (.gone, 12)], of: 1_902)),
        ],
        disabled: TimeChart(
            id: "disabled",
            title: "Disabled by day",
            shape: .bars,
            unit: .count,
            times: (0..<14).map { now / 86_400_000_000 * 86_400_000_000 - Int64(13 - $0) * 86_400_000_000 },
            series: [
                series("Unregistered", .gone, wander(14, around: 900, by: 0.2).map { $0.rounded() }),
                series("BadDeviceToken", .rejected, (0..<14).map { $0 == 13 ? 1_401 : 20 }),
                series("by the application", .own, wander(14, around: 120, by: 0.3, seed: 5).map { $0.rounded() }),
            ],
            form: .day
        ).figure,
        reasons: [
            outcome(.quiet, "gone", "Unregistered", .gone, 210_118, of: 293_355, "The app was removed."),
            outcome(.warn, "gone", "BadDeviceToken", .rejected, 61_402, of: 293_355, "1,401 today: is an app signed for development registered as production?"),
            outcome(.quiet, "unregistered", nil, .own, 21_835, of: 293_355, "By the application."),
        ],
        fuses: [
            FuseRow(app: "shop", environment: "production", badge: Badge(.bad, "open"), words: "11.6 % weak evidence in 12,041 answers of 10 min, at most 2 %: nothing is pruned until you close it.", since: ago(7_100, .short), action: ActionLink("Close it", "/devices/fuse/close?app=shop", .warn)),
            FuseRow(app: "courier", environment: "production", badge: Badge(.good, "closed"), words: "0.1 % of 1,890 answers in 10 min; opens at 2 %.", since: nil, action: nil),
        ],
        devices: (0..<12).map(device),
        pager: Pager(shown: "12 of 1,000+ devices", first: nil, next: "/devices?after=1", searchedTo: nil, further: nil),
        actions: [ActionLink("Restore these", "/devices/restore?app=shop&reason=BadDeviceToken", .warn)],
        empty: nil
    )

    static func rule(_ name: String, _ event: String, _ badge: Badge, _ accepted: Int64, reason: String? = nil) -> RuleRow {
        RuleRow(
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
                choice("app", "App", ["all", "shop", "courier"], chosen: "all"),
                choice("state", "State", ["all", "active", "refused", "unchecked", "disabled"], chosen: "all"),
                FilterField(text: TextField(name: "event", label: "Event type", value: "", kind: "search")),
            ],
            active: [],
            clear: "/rules",
            isActive: false
        ),
        rows: [
            rule("order-shipped", "order.shipped", Badge(.bad, "refused"), 412_018, reason: "version 13, line 7: $.total is compared with text; version 12 stays in force"),
            rule("order-delivered", "order.delivered", Badge(.good, "active"), 398_224),
            rule("chat-message", "chat.message", Badge(.good, "active"), 2_904_112),
            rule("price-dropped", "price.dropped", Badge(.quiet, "disabled"), 0),
            rule("courier-route", "route.changed", Badge(.busy, "unchecked"), 12_004),
        ],
        pager: Pager(shown: "5 rules", first: nil, next: nil, searchedTo: nil, further: nil),
        empty: nil
    )

    static let rule = RulePage(
        frame: frame("order-shipped", "Rules", parent: PageLink(name: "Rules", href: "/rules")),
        badge: Badge(.warn, "version 12 in force, 13 refused"),
        facts: [
            Fact(name: "App", words: "shop"), Fact(name: "Event", code: "order.shipped"), Fact(name: "Audience", words: "users $.customer_id"),
            Fact(name: "Lane", words: "transactional"), Fact(name: "Ttl", words: "4 h"), Fact(name: "From", words: "rules/shop.yaml"),
        ],
        refusal: Notice(.bad, "Version 13 is refused. when, line 7: $.total is compared with text. Write $.total > 10, without quotation marks."),
        outcomes: [
            outcome(.good, "accepted", nil, .accepted, 412_018, of: 418_822), outcome(.quiet, "gone", "Unregistered", .gone, 6_002, of: 418_822),
            outcome(.quiet, "expired", nil, .own, 802, of: 418_822),
        ],
        versions: [
            RuleVersionRow(version: "13", href: "/rules/shop/order-shipped?version=13", badge: Badge(.bad, "refused"), reason: "when, line 7", made: ago(5_400, .short), retired: nil, isShown: true),
            RuleVersionRow(version: "12", href: "/rules/shop/order-shipped?version=12", badge: Badge(.good, "active"), reason: nil, made: ago(905_400, .short), retired: nil, isShown: false),
            RuleVersionRow(version: "11", href: "/rules/shop/order-shipped?version=11", badge: Badge(.quiet, "retired"), reason: nil, made: ago(4_905_400, .short), retired: ago(905_400, .short), isShown: false),
        ],
        definition: "name: order-shipped\napp: shop\nevent: order.shipped\nwhen: $.total > \"10\" && $.country == \"ES\"\nto: { users: $.customer_id }\nmessage:\n  notification: { title: \"Order {{order_id}}\", body: \"On its way\" }\ncollapse: \"order-{{order_id}}\"\nttl: 4h\nlane: transactional\n",
        difference: [
            DifferenceLine(kind: "same", sign: " ", words: "event: order.shipped"),
            DifferenceLine(kind: "removed", sign: "\u{2212}", words: "when: $.total > 10 && $.country == \"ES\""),
            DifferenceLine(kind: "added", sign: "+", words: "when: $.total > \"10\" && $.country == \"ES\""),
            DifferenceLine(kind: "same", sign: " ", words: "to: { users: $.customer_id }"),
        ],
        explain: ExplainPanel(
            action: "/rules/shop/order-shipped/explain",
            payload: "{\n  \"order_id\": 90210,\n  \"customer_id\": \"customer-4410\",\n  \"total\": 49.90,\n  \"country\": \"ES\"\n}",
            problem: nil,
            user: TextField(name: "user", label: "As this user sees it", value: "customer-4410", example: "any", hint: "For preferences, locale and quiet hours"),
            seal: "sealed",
            verdict: Notice(.good, "Version 12 would take it: 3 devices, 1 left out."),
            conditions: [
                WhyCondition(badge: Badge(.good, "holds"), code: "$.total > 10"), WhyCondition(badge: Badge(.good, "holds"), code: "$.country == \"ES\""),
            ],
            audience: [
                AudienceRow(app: "shop", platform: "apns", environment: "production", devices: "2", accepted: "–", failed: "–", bar: .none),
                AudienceRow(app: "shop", platform: "webpush", environment: "production", devices: "1", accepted: "–", failed: "–", bar: .none),
            ],
            previews: previews
        )
    )

    static func provider(_ app: String, _ name: String, _ badge: Badge, _ words: String?, _ rate: Double, ends: String, breaker: Badge) -> ProviderCard {
        ProviderCard(
            app: app,
            provider: name,
            badge: badge,
            words: words,
            perSecond: "\(FigureText.short(rate))/s",
            spark: Sparkline.markup(wander(60, around: rate, by: 0.2, seed: UInt64(rate) + 3)),
            facts: [
                Fact(name: "Credential", code: name == "apns" ? "key ABC123DEFG" : "service account"), Fact(name: "Ends", words: ends),
                Fact(name: "Answers in 10 min", words: FigureText.count(Int64(rate * 600))), Fact(name: "p95", words: "640 ms"),
                Fact(name: "Host", words: name == "apns" ? "api.push.apple.com" : "fcm.googleapis.com"),
            ],
            daemons: [
                ProviderDaemonRow(daemon: "push-1.example.com", breaker: breaker, connections: "4 of 4", flying: "212", next: "renewed in 22 min"),
                ProviderDaemonRow(daemon: "push-2.example.com", breaker: breaker, connections: "4 of 4", flying: "198", next: "renewed in 41 min"),
            ],
            actions: words == nil ? [] : [ActionLink("Probe now", "/providers/\(app)/\(name)/probe", .quiet)]
        )
    }

    static let providers = ProvidersPage(
        frame: frame("Providers", "Providers", stream: "/console/stream?page=providers"),
        filter: FilterForm(action: "/providers", fields: [choice("app", "App", ["all", "shop", "courier"], chosen: "all"), choice("span", "Time", ["15 min", "1 hour", "1 day"], chosen: "1 hour")], active: [], clear: "/providers", isActive: false),
        providers: [
            provider("shop", "fcm", Badge(.bad, "breaker open"), "403 SENDER_ID_MISMATCH: the credential is another project's. 18,204 pushes wait.", 0.2, ends: "does not end", breaker: Badge(.bad, "open")),
            provider("shop", "apns", Badge(.good, "well"), nil, 812, ends: "does not end", breaker: Badge(.good, "closed")),
            provider("shop", "webpush", Badge(.warn, "credential ends"), "The VAPID key's last subscription was made with another key.", 41, ends: "in 9 days", breaker: Badge(.good, "closed")),
            provider("courier", "apns", Badge(.good, "well"), nil, 9, ends: "in 41 days", breaker: Badge(.good, "closed")),
        ],
        answers: TimeChart(
            id: "answers",
            title: "Answers a minute",
            shape: .bars,
            unit: .count,
            times: minutes(60),
            series: [
                series("accepted", .accepted, wander(60, around: 61_000, by: 0.12).map { $0.rounded() }),
                series("refused", .rejected, wander(60, around: 420, by: 0.5, seed: 5).enumerated().map { $0 > 46 ? 9_000 : $1.rounded() }),
            ]
        ).figure,
        latency: Histogram(
            id: "latency",
            title: "Time to answer",
            counted: "answers",
            classes: [("50 ms", 120_400), ("100 ms", 1_804_112), ("250 ms", 1_410_002), ("500 ms", 310_488), ("1 s", 61_002), ("2.5 s", 12_004), ("5 s", 1_204), ("> 5 s", 88)]
        ).figure,
        reasons: overview.outcomes
    )

    static let confirm = ConfirmPage(
        frame: frame("Restore 1,401 devices of shop?", "Devices", parent: PageLink(name: "Devices", href: "/devices?app=shop&reason=BadDeviceToken")),
        words: "They were disabled with BadDeviceToken since 26 November 12:00 UTC. The next push goes to them again; who is gone will be disabled again.",
        count: "1,401",
        counted: "devices",
        warning: nil,
        facts: [Fact(name: "App", words: "shop"), Fact(name: "Reason", words: "BadDeviceToken"), Fact(name: "Since", time: ago(7_402, .short))],
        samples: SampleTable(
            heads: ["Device", "User", "Disabled"],
            rows: (0..<4).map {
                SampleRow(cells: ["\(9_120_044 + $0 * 7)", "customer-\(4_410 + $0)", "26 Nov 12:0\($0) UTC"])
            }
        ),
        action: "/devices/restore",
        kept: [HiddenField(name: "app", value: "shop"), HiddenField(name: "expected", value: "1401")],
        seal: "sealed",
        isReasonOptional: false,
        verb: "Restore 1,401 devices",
        isDangerous: false,
        isImpossible: false,
        cancel: "/devices?app=shop&reason=BadDeviceToken"
    )

    static let confirmAbort = ConfirmPage(
        frame: frame("Abort black-friday-early?", "Campaigns", parent: PageLink(name: "black-friday-early", href: "/campaigns/shop/black-friday-early")),
        words: "391,678 pushes are not sent yet, and will not be. 812,440 are out.",
        count: "391,678",
        counted: "pushes are never sent",
        warning: "An aborted occurrence cannot go on. Pause it if you only want time to think.",
        facts: [],
        samples: nil,
        action: "/campaigns/shop/black-friday-early/abort",
        kept: [],
        seal: "sealed",
        isReasonOptional: false,
        verb: "Abort for 391,678",
        isDangerous: true,
        isImpossible: false,
        cancel: "/campaigns/shop/black-friday-early"
    )

    static let login = LoginPage(
        frame: frame("Log in", "", isLoggedIn: false),
        action: "/login",
        back: "/events?type=order.shipped",
        problem: "This token is not known, or has ended.",
        command: "fanfare tokens create --name console --scope operate"
    )

    static let error = ErrorPage(
        frame: frame("Not now", ""),
        status: "503",
        heading: "The database does not answer",
        words: "connection to server at \"db.example.com\" failed: Connection refused. What daemons hold goes on being sent; nothing new is planned.",
        steps: [
            HealthStep(words: "See whether PostgreSQL runs:", command: "systemctl status postgresql"),
            HealthStep(words: "Then what Fanfare says of it:", command: "fanfare check"),
        ],
        requestID: "01J9ZC7Q3",
        again: "/"
    )
}
