@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static let illHealth = HealthPanel(
        isWell: false,
        headline: "2 problems need attention",
        looked: ago(1),
        problems: [
            HealthProblem(
                "breaker: shop/fcm",
                "fcm is unavailable for shop, and its 18,204 pushes wait",
                .bad,
                since: ago(734, .second),
                lasting: "12 min",
                steps: [
                    HealthStep(
                        words: "See its last responses: SENDER_ID_MISMATCH, 403.",
                        link: PageLink(name: "Its responses", href: "/providers?app=shop")
                    ),
                    HealthStep(
                        words:
                            "Put the service account of the project that the app was built with, then restart the daemons:",
                        command: "systemctl restart fanfare"
                    ),
                    HealthStep(words: "Nothing is lost meanwhile: pending pushes are sent until their ttl ends."),
                ]
            ),
            HealthProblem(
                "rules",
                "1 rejected rule version; the version in force before stays in force",
                .warn,
                since: ago(5_400, .short),
                lasting: "1 h 30 min",
                steps: [
                    HealthStep(
                        words: "order-shipped: line 7, $.total is compared with text.",
                        link: PageLink(name: "The rule", href: "/rules/shop/order-shipped")
                    )
                ]
            ),
        ],
        checks: [
            HealthCheck(name: "daemons", detail: "3 alive"), HealthCheck(name: "outbox", detail: "empty"),
            HealthCheck(name: "quarantine", detail: "no events on the slow path"),
            HealthCheck(name: "campaigns", detail: "0 refused, 0 failed today"),
            HealthCheck(name: "audit: deliveries", detail: "looked 21 s ago"),
            HealthCheck(name: "credentials", detail: "the next ends in 41 days"),
        ]
    )

    static let wellHealth = HealthPanel(
        isWell: true,
        headline: "All 14 checks passing",
        looked: ago(1),
        problems: [],
        checks: illHealth.checks
    )

    static func series(_ name: String, _ kind: ChartKind, _ values: [Double]) -> ChartSeries {
        ChartSeries(name: name, kind: kind, values: values)
    }

    static let throughput = TimeChart(
        id: "throughput",
        title: "Pushes a minute",
        shape: .bars,
        unit: .count,
        times: minutes(60),
        series: [
            series("accepted", .accepted, wander(60, around: 61_000, by: 0.12).map { $0.rounded() }),
            series(
                "retrying",
                .retrying,
                wander(60, around: 900, by: 0.6, seed: 3).enumerated().map { $0 > 46 ? $1 * 9 : $1 }.map {
                    $0.rounded()
                }
            ),
            series("rejected", .rejected, wander(60, around: 420, by: 0.5, seed: 5).map { $0.rounded() }),
            series("gone", .gone, wander(60, around: 260, by: 0.4, seed: 9).map { $0.rounded() }),
        ]
    ).figure

    static let latency = TimeChart(
        id: "latency",
        title: "From emit to answer",
        shape: .lines,
        unit: .seconds,
        times: minutes(60),
        series: [
            series("p50", .first, wander(60, around: 0.18, by: 0.1)),
            series("p95", .second, wander(60, around: 0.62, by: 0.2, seed: 4)),
            series("p99", .third, wander(60, around: 1.4, by: 0.35, seed: 11)),
        ]
    ).figure

    static let missing = TimeChart(
        id: "missing",
        title: "Not delivered, by reason",
        shape: .bars,
        unit: .count,
        times: minutes(60),
        series: [
            series("gone: unregistered", .first, wander(60, around: 260, by: 0.4, seed: 9).map { $0.rounded() }),
            series("rejected: SENDER_ID_MISMATCH", .second, (0..<60).map { $0 < 47 ? 0 : Double($0 - 46) * 40 }),
            series("expired: ttl_passed", .third, wander(60, around: 14, by: 0.8, seed: 2).map { $0.rounded() }),
            series("others", .own, wander(60, around: 30, by: 0.4, seed: 6).map { $0.rounded() }),
        ]
    ).figure
}
