@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static let campaign = CampaignPage(
        frame: frame(
            "winter-collection",
            "Campaigns",
            parent: PageLink(name: "Campaigns", href: "/campaigns"),
            stream: "/console/stream?page=campaign&app=shop&name=winter-collection"
        ),
        badge: Badge(.warn, "held by canary"),
        words: "Too many failed. The rest is sent only if the campaign is resumed.",
        progress: held,
        canary: CanaryGate(
            title: "Canary",
            badge: Badge(.warn, "failed, rest held"),
            words:
                "1,445 of 12,041 failed, most with BadDeviceToken: were these devices registered by a development build?",
            share: "1 % of 1,204,118",
            sent: "12,041",
            failed: "12 %",
            limit: "2 %",
            opens: nil,
            actions: [
                ActionLink("Look at the failed", "/events/812/deliveries?outcome=gone", .quiet)
            ]
        ),
        actions: [
            ActionLink("Start now", "/campaigns/shop/winter-collection/start", .quiet, refused: "it runs"),
            ActionLink("Resume", "/campaigns/shop/winter-collection/resume", .warn),
            ActionLink("Abort", "/campaigns/shop/winter-collection/abort", .bad),
        ],
        facts: [
            Fact(name: "Version", words: "4 of 24 Nov"), Fact(name: "Audience", words: "topic winter, not muted"),
            Fact(name: "Pace", words: "at most 2,500/s"),
            Fact(name: "Event", link: PageLink(name: "48211902", href: "/events/48211902")),
            Fact(name: "Approved by", words: "ana"), Fact(name: "Late zones", words: "skipped after 1 h"),
        ],
        outcomes: [
            outcome(.good, "accepted", nil, .accepted, 10_596, of: 12_041),
            outcome(.quiet, "gone", "BadDeviceToken", .gone, 1_401, of: 12_041, "In both environments."),
            outcome(.quiet, "rejected", "TopicDisallowed", .rejected, 44, of: 12_041),
        ],
        variants: nil,
        reports: reports("Campaign", "autumn", accepted: 10_596),
        waves: [
            WaveLine(
                at: ago(7_402, .short),
                zones: "Europe/Madrid, Europe/Paris and 14 more",
                devices: "802,110 devices",
                badge: Badge(.warn, "held")
            ),
            WaveLine(
                at: ago(3_802, .short),
                zones: "Europe/London, Europe/Lisbon",
                devices: "391,000 devices",
                badge: Badge(.quiet, "waits")
            ),
            WaveLine(
                at: ago(-14_198, .short),
                zones: "America/New_York",
                devices: "11,008 devices",
                badge: Badge(.quiet, "waits")
            ),
        ],
        noWaves: "Sent to everyone at the same moment.",
        next: [],
        runs: [
            RunLine(
                at: ago(7_402, .short),
                event: PageLink(name: "48211902", href: "/events/48211902"),
                badge: Badge(.warn, "held"),
                planned: "12,041",
                accepted: "10,596",
                failed: "1,445",
                took: "–",
                bar: held.bar
            ),
            RunLine(
                at: ago(604_800, .short),
                event: PageLink(name: "44120001", href: "/events/44120001"),
                badge: Badge(.good, "done"),
                planned: "1,180,440",
                accepted: "1,171,002",
                failed: "9,438",
                took: "8 min 2 s",
                bar: ShareBar.markup([(.accepted, 1_171_002), (.gone, 9_438)], of: 1_180_440)
            ),
        ],
        pager: noPager,
        definition:
            "name: winter-collection\napp: shop\nschedule: { at: \"2026-11-26 12:00\", zone: local }\nto: { topic: winter }\nrate: 2500/s\ncanary: { share: 1 %, max_failures: 2 %, hold_for: 10m }\nmessage:\n  notification: { title: \"Winter is here\", body: \"{{first_name}}, 20 % until Sunday\" }\n",
        test: TestForm(
            action: "/campaigns/shop/winter-collection/test",
            user: TextField(name: "user", label: "User", value: "ana", hint: nil),
            seal: "sealed",
            hint: "Ignores caps and quiet hours, and is not counted."
        ),
        preview: CampaignPreview(form: nil, note: "Shown for ana.", screens: previews)
    )

    static let previews = NotificationPreviews(
        apple: PreviewCard(
            app: "Shop",
            initial: "S",
            title: "Winter is here",
            subtitle: nil,
            body:
                "Ana, 20 % off coats, boots and everything with a hood until Sunday night. Your list has two that are nearly gone.",
            origin: nil,
            image: nil,
            buttons: [],
            badge: "3",
            silent: nil,
            size: "412 of 4,096 bytes",
            isTooLarge: false,
            facts: [
                Fact(name: "Sound", words: "default"), Fact(name: "Priority", words: "10"),
                Fact(name: "Collapse", code: "winter"),
            ],
            json: "{}"
        ),
        android: PreviewCard(
            app: "Shop",
            initial: "S",
            title: "Winter is here",
            subtitle: nil,
            body:
                "Ana, 20 % off coats, boots and everything with a hood until Sunday night. Your list has two that are nearly gone.",
            origin: nil,
            image: "winter.jpg",
            buttons: [],
            badge: nil,
            silent: nil,
            size: "380 of 4,096 bytes",
            isTooLarge: false,
            facts: [Fact(name: "Channel", code: "offers"), Fact(name: "Priority", words: "NORMAL")],
            json: "{}"
        ),
        browser: PreviewCard(
            app: "Shop",
            initial: "S",
            title: "Winter is here",
            subtitle: nil,
            body: "Ana, 20 % off coats, boots and everything with a hood until Sunday night.",
            origin: "shop.example.com",
            image: nil,
            buttons: ["Look", "Later"],
            badge: nil,
            silent: nil,
            size: "251 of 3,993 bytes",
            isTooLarge: false,
            facts: [Fact(name: "Urgency", words: "normal"), Fact(name: "TTL", words: "4 h")],
            json: "{}"
        )
    )
}
