@testable import APIKit
@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static func provider(
        _ app: String,
        _ name: String,
        _ badge: Badge,
        _ words: String?,
        _ rate: Double,
        ends: String,
        breaker: Badge
    ) -> ProviderCard {
        ProviderCard(
            id: "\(app)-\(name)",
            app: app,
            provider: name,
            badge: badge,
            words: words,
            perSecond: "\(FigureText.short(rate))/s",
            facts: [
                Fact(name: "Credential", code: name == "apns" ? "key ABC123DEFG" : "service account"),
                Fact(name: "Ends", words: ends),
                Fact(name: "Responses in 10 min", words: FigureText.count(Int64(rate * 600))),
                Fact(name: "p95", words: "640 ms"),
                Fact(name: "Host", words: name == "apns" ? "api.push.apple.com" : "fcm.googleapis.com"),
            ],
            daemons: [
                ProviderDaemonLine(
                    daemon: "push-1.example.com",
                    breaker: breaker
                ),
                ProviderDaemonLine(
                    daemon: "push-2.example.com",
                    breaker: breaker
                ),
            ]
        )
    }

    static let providers = ProvidersPage(
        frame: frame("Providers", "Providers", stream: "/console/stream?page=providers"),
        filter: FilterForm(
            action: "/providers",
            fields: [
                choice("app", "App", ["all", "shop", "sender"], chosen: "all"),
                choice("span", "Time", ["15 min", "1 hour", "1 day"], chosen: "1 hour"),
            ],
            active: [],
            clear: "/providers",
            isActive: false
        ),
        providers: [
            provider(
                "shop",
                "fcm",
                Badge(.bad, "breaker open"),
                "403 SENDER_ID_MISMATCH: the credential is another project's. 18,204 pushes wait.",
                0.2,
                ends: "does not end",
                breaker: Badge(.bad, "open")
            ),
            provider(
                "shop",
                "apns",
                Badge(.good, "OK"),
                nil,
                812,
                ends: "does not end",
                breaker: Badge(.good, "OK")
            ),
            provider(
                "shop",
                "webpush",
                Badge(.warn, "credential expires"),
                "The VAPID key's last subscription was made with another key.",
                41,
                ends: "in 9 days",
                breaker: Badge(.good, "OK")
            ),
            provider(
                "sender",
                "apns",
                Badge(.good, "OK"),
                nil,
                9,
                ends: "in 41 days",
                breaker: Badge(.good, "OK")
            ),
        ],
        answers: TimeChart(
            id: "answers",
            title: "Answers a minute",
            shape: .bars,
            unit: .count,
            times: minutes(60),
            series: [
                series("accepted", .accepted, wander(60, around: 61_000, by: 0.12).map { $0.rounded() }),
                series(
                    "refused",
                    .rejected,
                    wander(60, around: 420, by: 0.5, seed: 5).enumerated().map { $0 > 46 ? 9_000 : $1.rounded() }
                ),
            ]
        ).figure,
        latency: Histogram(
            id: "latency",
            title: "Time to answer",
            counted: "answers",
            classes: [
                ("50 ms", 120_400), ("100 ms", 1_804_112), ("250 ms", 1_410_002), ("500 ms", 310_488), ("1 s", 61_002),
                ("2.5 s", 12_004), ("5 s", 1_204), ("> 5 s", 88),
            ]
        ).figure,
        reasons: overview.outcomes
    )
}
