@testable import FanfareConsole
@testable import FanfareConsoleView
@testable import FanfareRecords

extension Demo {
    static let eventFilter = FilterForm(
        action: "/events",
        fields: [
            FilterField(text: TextField(name: "type", label: "Type", value: "order.shipped", kind: "search")),
            FilterField(text: TextField(name: "key", label: "Key", value: "", kind: "search")),
            choice(
                "fate",
                "Fate",
                ["all", "waiting", "planned", "unmatched", "duplicate", "cancelled", "expired", "refused"],
                chosen: "all"
            ),
            choice("app", "App", ["all", "shop", "sender"], chosen: "all"),
            FilterField(text: TextField(name: "until", label: "Before (UTC)", value: "", kind: "datetime-local")),
        ],
        active: [PageLink(name: "type order.shipped", href: "/events")],
        clear: "/events",
        isActive: true
    )

    static func eventRow(_ index: Int) -> EventLine {
        let fates: [(Badge, String?)] = [
            (Badge(.good, "done"), nil), (Badge(.good, "done"), nil), (Badge(.busy, "sending"), nil),
            (Badge(.good, "done"), nil),
            (Badge(.quiet, "unmatched"), "no rule matched: $.total > 10 is false"),
            (Badge(.quiet, "duplicate"), "of 48211877"),
            (Badge(.bad, "refused"), "rule order-shipped: customer_id is missing"),
        ]
        let fate = fates[index * 5 % 7]
        return EventLine(
            id: "\(48_211_940 - index * 3)",
            href: "/events/\(48_211_940 - index * 3)",
            type: ["order.shipped", "chat.message", "order.shipped", "price.dropped", "order.delivered"][index % 5],
            key: index.isMultiple(of: 3) ? nil : "order-\(90_210 - index)",
            at: ago(Double(index * index) * 0.7 + 2, .second),
            fate: fate.0,
            detail: fate.1
        )
    }

    static let events = EventListPage(
        frame: frame("Events", "Events", stream: "/console/stream?page=events&type=order.shipped"),
        filter: eventFilter,
        rows: (0..<25).map(eventRow),
        pager: Pager(
            shown: "25 of 1,000+ events",
            first: nil,
            next: "/events?type=order.shipped&after=abc",
            searchedTo: ago(7_200, .short),
            further: "/events?type=order.shipped&before=def"
        ),
        actions: [
            ActionLink("Cancel these", "/events/cancel?type=order.shipped", .bad)
        ],
        empty: nil
    )

    static let eventsEmpty = EventListPage(
        frame: frame("Events", "Events"),
        filter: eventFilter,
        rows: [],
        pager: Pager(shown: "None", first: nil, next: nil, searchedTo: ago(86_400, .short), further: "/events?further"),
        actions: [],
        empty: Empty(
            title: "No such event in the last day",
            words: "Events are kept 30 days; search on, or emit one.",
            command: "fanfare emit order.shipped '{\"order_id\": 1}'"
        )
    )

    static func step(
        _ name: String,
        _ detail: String,
        _ after: Double,
        _ took: Double,
        _ badge: Badge? = nil,
        _ kind: ChartKind = .first
    ) -> TraceStep {
        TraceStep(
            name: name,
            detail: detail,
            at: ago(30 - after, .second),
            after: "+\(FigureText.duration(after))",
            took: took > 0 ? FigureText.duration(took) : nil,
            bar: SpanBar.markup(start: after, length: took, of: 1.6, kind),
            badge: badge
        )
    }

    static func delivery(_ index: Int) -> PushLine {
        let ends: [(Badge, String?)] = [
            (Badge(.good, "accepted"), nil), (Badge(.good, "accepted"), nil), (Badge(.quiet, "gone"), "Unregistered"),
            (Badge(.busy, "retrying"), "TooManyRequests"), (Badge(.good, "accepted"), nil),
        ]
        let end = ends[index % 5]
        return PushLine(
            event: PageLink(name: "48211901", href: "/events/48211901"),
            eventType: "order.shipped",
            rule: "order-shipped",
            user: PageLink(name: "customer-\(4_410 + index)", href: "/people?user=customer-\(4_410 + index)"),
            device: PageLink(name: "\(9_120_044 + index * 7)", href: "/devices?id=\(9_120_044 + index * 7)"),
            provider: ["apns", "fcm", "webpush"][index % 3],
            attempt: index % 5 == 3 ? "2" : "1",
            badge: end.0,
            reason: end.1,
            at: ago(29 - Double(index) * 0.1, .second)
        )
    }

    static let event = EventPage(
        frame: frame(
            "order.shipped",
            "Events",
            parent: PageLink(name: "Events", href: "/events?type=order.shipped"),
            stream: "/console/stream?page=event&id=48211901"
        ),
        id: "48211901",
        type: "order.shipped",
        fate: Badge(.busy, "sending"),
        verdict: "2 rules took it; 17,910 of 18,220 pushes are accepted, 204 wait for another attempt.",
        facts: [
            Fact(name: "Id", code: "48211901"), Fact(name: "Key", code: "order-90210"),
            Fact(name: "Emitted", time: ago(30, .full)),
            Fact(name: "From", words: "trigger on public.orders"), Fact(name: "Ends", time: ago(-14_370, .minute)),
            Fact(name: "Lane", words: "normal"),
        ],
        actions: [
            ActionLink("Cancel", "/events/48211901/cancel", .bad),
            ActionLink("Replay to one user", "/events/48211901/replay", .quiet),
        ],
        trace: EventTrace(
            steps: [
                step("Emitted", "committed with the transaction", 0, 0),
                step("Planned", "2 rules, 18,220 deliveries in 19 batches, by push-1", 0.006, 0.041),
                step("Claimed", "19 batches by push-1, push-2", 0.049, 0.02),
                step("Rendered", "6 locales", 0.071, 0.009),
                step("Sent", "apns 11,204 · fcm 6,802 · webpush 214", 0.082, 0.93, nil, .accepted),
                step("First answer", "apns, accepted", 0.112, 0, Badge(.good, "accepted"), .accepted),
                step("Recorded", "17,910 accepted, 106 gone", 1.06, 0.02),
                step(
                    "Another attempt",
                    "204 deliveries, fcm: throttled, after 1 s",
                    1.1,
                    0.5,
                    Badge(.busy, "retrying"),
                    .retrying
                ),
            ],
            traceID: "4bf92f3577b34da6a3ce929d0e0e4736",
            words: "112 ms from emit to the first answer"
        ),
        rules: [
            EventRuleLine(
                name: "order-shipped",
                link: PageLink(name: "order-shipped", href: "/rules/shop/order-shipped"),
                badge: Badge(.good, "matched"),
                words: "$.total > 10 holds; $.country == \"ES\" holds",
                devices: "18,216 devices"
            ),
            EventRuleLine(
                name: "order-shipped-staff",
                link: PageLink(name: "order-shipped-staff", href: "/rules/shop/order-shipped-staff"),
                badge: Badge(.good, "matched"),
                words: "no condition",
                devices: "4 devices"
            ),
            EventRuleLine(
                name: "big-orders",
                link: PageLink(name: "big-orders", href: "/rules/shop/big-orders"),
                badge: Badge(.quiet, "not this one"),
                words: "$.total > 1000 is false",
                devices: "–"
            ),
        ],
        audience: [
            AudienceLine(
                app: "shop",
                provider: "apns",
                environment: "production",
                devices: "11,204",
                accepted: "11,120",
                failed: "84",
                bar: ShareBar.markup([(.accepted, 11_120), (.gone, 84)], of: 11_204)
            ),
            AudienceLine(
                app: "shop",
                provider: "fcm",
                environment: "production",
                devices: "6,802",
                accepted: "6,576",
                failed: "22",
                bar: ShareBar.markup([(.accepted, 6_576), (.retrying, 204), (.gone, 22)], of: 6_802)
            ),
            AudienceLine(
                app: "shop",
                provider: "webpush",
                environment: "production",
                devices: "214",
                accepted: "214",
                failed: "0",
                bar: ShareBar.markup([(.accepted, 214)], of: 214)
            ),
        ],
        suppressed: [
            outcome(.quiet, "opted out", "category orders", .own, 1_204, of: 18_220),
            outcome(.quiet, "quiet hours", "held until 08:00 local time", .own, 88, of: 18_220),
        ],
        outcomes: [
            outcome(.good, "accepted", nil, .accepted, 17_910, of: 18_220),
            outcome(.busy, "retrying", "throttled", .retrying, 204, of: 18_220),
            outcome(.quiet, "gone", "Unregistered", .gone, 106, of: 18_220),
        ],
        variants: VariantTable(
            rows: [
                VariantLine(
                    rule: "order-shipped",
                    name: "short",
                    recipients: "4,555",
                    accepted: "4,501",
                    failed: "54",
                    share: "98.8 %",
                    bar: ShareBar.markup([(.accepted, 4_501)], of: 4_555)
                ),
                VariantLine(
                    rule: "order-shipped",
                    name: "holdout",
                    recipients: "911",
                    accepted: "–",
                    failed: "–",
                    share: "got nothing",
                    bar: ShareBar.markup([(.own, 911)], of: 911)
                ),
            ],
            note: nil
        ),
        reports: reports("Rule", "order-shipped", accepted: 17_910),
        lift: ReportTable([
            LiftRow(
                app: "shop",
                rule: "order-shipped",
                variant: "holdout",
                people: 911,
                notReporting: 240,
                opened: 0,
                converted: 45,
                rate: 0.0494,
                lift: nil,
                low: nil,
                high: nil
            ),
            LiftRow(
                app: "shop",
                rule: "order-shipped",
                variant: "plain",
                people: 4_555,
                notReporting: 1_104,
                opened: 402,
                converted: 281,
                rate: 0.0617,
                lift: 0.0123,
                low: -0.0034,
                high: 0.0280
            ),
        ]),
        payload: PayloadView(
            json:
                "{\n  \"order_id\": 90210,\n  \"customer_id\": \"customer-4410\",\n  \"total\": 49.90,\n  \"country\": \"ES\",\n  \"carrier\": { \"name\": \"Correos\", \"tracking\": 9007199254740993 }\n}",
            hidden: nil,
            size: "148 bytes"
        ),
        whyNot: FilterForm(
            action: "/people",
            fields: [
                FilterField(
                    text: TextField(
                        name: "user",
                        label: "User",
                        value: "",
                        kind: "search",
                        hint: "As your application knows it."
                    )
                ), choice("app", "App", ["all", "shop", "sender"], chosen: "all"),
            ],
            active: [],
            clear: "/people",
            isActive: false,
            kept: [HiddenField(name: "event", value: "48211901")]
        ),
        deliveries: (0..<12).map(delivery),
        pager: Pager(
            shown: "12 of 1,000+ pushes",
            first: nil,
            next: "/events/48211901?after=xyz",
            searchedTo: nil,
            further: nil
        )
    )
}
