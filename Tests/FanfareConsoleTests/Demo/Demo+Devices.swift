@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static let devices = DevicesPage(
        frame: frame("Devices", "Devices", stream: "/console/stream?page=devices"),
        filter: FilterForm(
            action: "/devices",
            fields: [
                choice("app", "App", ["all", "shop", "sender"], chosen: "shop"),
                choice("provider", "Provider", ["all", "apns", "fcm", "webpush", "webhook"], chosen: "all"),
                choice("state", "State", ["all", "enabled", "disabled"], chosen: "disabled"),
                choice(
                    "reason",
                    "Reason",
                    ["all", "Unregistered", "BadDeviceToken", "unregistered"],
                    chosen: "BadDeviceToken"
                ),
                FilterField(
                    text: TextField(
                        name: "since",
                        label: "Disabled since (UTC)",
                        value: "2026-11-26T12:00",
                        kind: "datetime-local"
                    )
                ),
            ],
            active: [
                PageLink(name: "app shop", href: "/devices?1"), PageLink(name: "disabled", href: "/devices?2"),
                PageLink(name: "reason BadDeviceToken", href: "/devices?3"),
            ],
            clear: "/devices",
            isActive: true
        ),
        counts: [
            DeviceCountLine(
                app: "shop",
                provider: "apns",
                environment: "production",
                address: nil,
                href: "/devices?app=shop&provider=apns",
                enabled: "1,204,118",
                denied: "96,330",
                disabled: "88,201",
                share: "93.2 %",
                bar: ShareBar.markup([(.accepted, 1_204_118), (.gone, 88_201)], of: 1_292_319)
            ),
            DeviceCountLine(
                app: "shop",
                provider: "fcm",
                environment: "production",
                address: "FID",
                href: "/devices?app=shop&provider=fcm",
                enabled: "980,377",
                denied: "41,907",
                disabled: "141,022",
                share: "87.4 %",
                bar: ShareBar.markup([(.accepted, 980_377), (.gone, 141_022)], of: 1_121_399)
            ),
            DeviceCountLine(
                app: "shop",
                provider: "webpush",
                environment: "production",
                address: nil,
                href: "/devices?app=shop&provider=webpush",
                enabled: "221,904",
                denied: "0",
                disabled: "64,120",
                share: "77.6 %",
                bar: ShareBar.markup([(.accepted, 221_904), (.gone, 64_120)], of: 286_024)
            ),
            DeviceCountLine(
                app: "sender",
                provider: "apns",
                environment: "production",
                address: nil,
                href: "/devices?app=sender",
                enabled: "1,890",
                denied: "3",
                disabled: "12",
                share: "99.4 %",
                bar: ShareBar.markup([(.accepted, 1_890), (.gone, 12)], of: 1_902)
            ),
        ],
        total: DeviceTotal(enabled: "2,408,289", denied: "138,240", disabled: "293,355"),
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
            outcome(
                .warn,
                "gone",
                "BadDeviceToken",
                .rejected,
                61_402,
                of: 293_355,
                "1,401 today: is an app signed for development registered as production?"
            ),
            outcome(.quiet, "unregistered", nil, .own, 21_835, of: 293_355, "By the application."),
        ],
        fuses: [
            FuseLine(
                app: "shop",
                environment: "production",
                badge: Badge(.bad, "open"),
                words:
                    "Too many tokens were reported invalid. Pruning is stopped until an operator fixes the cause and resumes it.",
                since: ago(7_100, .short),
                command: "fanfare devices resume-pruning --app shop"
            ),
            FuseLine(
                app: "sender",
                environment: "production",
                badge: Badge(.good, "OK"),
                words: "0.1 % of 1,890 answers in 10 min; opens at 2 %.",
                since: nil,
                command: nil
            ),
        ],
        devices: (0..<12).map(device),
        pager: Pager(
            shown: "12 of 1,000+ devices",
            first: nil,
            next: "/devices?after=1",
            searchedTo: nil,
            further: nil
        ),
        actions: [ActionLink("Restore these", "/devices/restore?app=shop&reason=BadDeviceToken", .warn)],
        empty: nil
    )

    static let oneDevice = OneDevicePage(
        frame: frame("Device 9120044", "Devices", parent: PageLink(name: "Devices", href: "/devices")),
        badge: Badge(.quiet, "disabled"),
        facts: [
            Fact(name: "App", words: "shop"), Fact(name: "Token's hash", code: "3f9a1c20"),
            Fact(name: "User", link: PageLink(name: "customer-4410", href: "/people?app=shop&user=customer-4410")),
            Fact(name: "Disabled", words: "BadDeviceToken", time: ago(7_402, .short)),
        ],
        topics: ["offers", "news"],
        attributes: "{\"plan\": \"gold\"}"
    )
}
