@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static func device(_ index: Int) -> DeviceLine {
        let states: [(Badge, String?)] = [
            (Badge(.good, "enabled"), nil), (Badge(.good, "enabled"), nil),
            (Badge(.quiet, "disabled"), "gone: Unregistered"),
            (Badge(.quiet, "disabled"), "BadDeviceToken"),
        ]
        let state = states[index % 4]
        return DeviceLine(
            id: "\(9_120_044 + index * 7)",
            href: "/devices?id=\(9_120_044 + index * 7)",
            app: "shop",
            provider: ["apns", "webpush", "fcm"][index % 3],
            environment: index == 3 ? "sandbox" : "production",
            user: PageLink(name: "customer-\(4_410 + index)", href: "/people?user=customer-\(4_410 + index)"),
            badge: state.0,
            reason: state.1,
            permission: index == 1 ? "denied" : nil,
            locale: "es-MX · America/Mexico_City",
            registered: ago(Double(index + 1) * 412_000, .short),
            disabled: state.1 == nil ? nil : ago(7_402, .short),
            lastPush: index == 3 ? nil : ago(Double(index * 90 + 1) * 720, .short),
            token: "7f3a…e1"
        )
    }

    static let personFilter = FilterForm(
        action: "/people",
        fields: [
            FilterField(text: TextField(name: "user", label: "User", value: "customer-4410", kind: "search")),
            choice("app", "App", ["shop", "sender"], chosen: "shop"),
        ],
        active: [],
        clear: "/people",
        isActive: false
    )

    static let person = PersonPage(
        frame: frame(
            "customer-4410",
            "People",
            parent: PageLink(name: "People", href: "/people"),
            stream: "/console/stream?page=person&user=customer-4410"
        ),
        filter: personFilter,
        person: Person(
            user: "customer-4410",
            verdict: Notice(
                .good,
                "Reached 12 minutes ago, on 2 of 3 devices; the third removed the app on 19 November."
            ),
            facts: [
                Fact(name: "First seen", time: ago(41_000_000, .full)),
                Fact(name: "Pushes in 7 days", words: "23, 22 accepted"),
                Fact(name: "Time there", words: "08:03, America/Mexico_City"),
            ],
            actions: [
                ActionLink("Replay the event to this user", "/events/48211901/replay?user=customer-4410", .quiet)
            ],
            devices: (0..<3).map(device),
            preferences: [
                PreferenceLine(category: "orders", app: "shop", badge: Badge(.good, "on"), words: "", changed: nil),
                PreferenceLine(
                    category: "offers",
                    app: "shop",
                    badge: Badge(.quiet, "off"),
                    words: "by the user",
                    changed: ago(3_000_000, .short)
                ),
                PreferenceLine(
                    category: "quiet hours",
                    app: "shop",
                    badge: Badge(.busy, "on"),
                    words: "22:00 to 08:00, held until they end",
                    changed: ago(9_000_000, .short)
                ),
            ],
            topics: ["store-12", "winter", "team-barça"],
            moreTopics: "and 14 more",
            upcoming: PersonUpcoming(rows: upcomingLines, all: "/upcoming?user=customer-4410"),
            pushes: (0..<8).map(delivery),
            pager: Pager(
                shown: "8 of 23 pushes",
                first: nil,
                next: "/people?user=customer-4410&after=x",
                searchedTo: nil,
                further: nil
            ),
            why: WhyPanel(
                form: FilterForm(
                    action: "/people",
                    fields: [
                        FilterField(
                            text: TextField(
                                name: "event",
                                label: "Event id, or type and key",
                                value: "48211901",
                                kind: "search"
                            )
                        )
                    ],
                    active: [],
                    clear: "/people",
                    isActive: false,
                    kept: [HiddenField(name: "user", value: "customer-4410")]
                ),
                verdict: Notice(
                    .warn,
                    "Event 48211901 was held: quiet hours until 08:00 local time, then sent to 2 devices."
                ),
                steps: [
                    WhyStep(
                        at: ago(30_000, .second),
                        subject: "event order.shipped",
                        badge: Badge(.quiet, "emitted"),
                        words: "key order-90210"
                    ),
                    WhyStep(
                        at: ago(29_999, .second),
                        subject: "rule order-shipped",
                        badge: Badge(.good, "matched"),
                        words: "$.total > 10 holds"
                    ),
                    WhyStep(
                        at: ago(29_999, .second),
                        subject: "all devices",
                        badge: Badge(.warn, "held"),
                        words: "quiet hours 22:00 to 08:00"
                    ),
                    WhyStep(
                        at: ago(722, .second),
                        subject: "apns device 9120044, attempt 1",
                        badge: Badge(.good, "accepted"),
                        words: nil
                    ),
                    WhyStep(
                        at: ago(722, .second),
                        subject: "webpush device 9120051, attempt 1",
                        badge: Badge(.good, "accepted"),
                        words: nil
                    ),
                    WhyStep(
                        at: ago(722, .second),
                        subject: "fcm device 9120058",
                        badge: Badge(.quiet, "held out"),
                        words: "disabled since 19 November: Unregistered"
                    ),
                ],
                recent: []
            )
        ),
        empty: nil
    )

    static let personAsked = PersonPage(
        frame: frame("People", "People"),
        filter: personFilter,
        person: nil,
        empty: Empty(
            title: "Find a user",
            words:
                "Enter a user id as your application knows it, to see devices, preferences, latest pushes, and why one wasn't delivered.",
            command: nil
        )
    )
}
