@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static let overview = overview(illHealth)

    static let overviewWell = overview(wellHealth)

    static func overview(_ health: HealthPanel) -> OverviewPage {
        OverviewPage(
            frame: frame(
                "Overview",
                "Overview",
                stream: "/console/stream?page=overview&app=&span=1h",
                isWell: health.isWell
            ),
            health: health,
            filter: FilterForm(
                action: "/",
                fields: [
                    choice("app", "App", ["all", "shop", "sender"], chosen: "all"),
                    choice("span", "Time", ["15 min", "1 hour", "6 hours", "1 day", "7 days"], chosen: "1 hour"),
                ],
                active: [],
                clear: "/",
                isActive: false
            ),
            figures: [
                KeyFigure(
                    "Accepted",
                    "1.04 k",
                    unit: "/s",
                    note: "62.4 k last minute",
                    spark: Sparkline.markup(wander(60, around: 61_000, by: 0.12), .accepted)
                ),
                KeyFigure(
                    "Emit to answer",
                    "180",
                    unit: "ms",
                    note: "p95 620 ms · p99 1.4 s",
                    spark: Sparkline.markup(wander(60, around: 0.18, by: 0.1))
                ),
                KeyFigure(
                    "Oldest pending, transactional",
                    "0.2",
                    unit: "s",
                    note: health.isWell ? "normal 0.9 s · bulk 34 min" : "normal 12 min · bulk 34 min",
                    spark: Sparkline.markup(wander(60, around: 3, by: 0.8, seed: 2))
                ),
                KeyFigure(
                    "Waiting",
                    health.isWell ? "20.1 k" : "38.4 k",
                    note: health.isWell ? "19.4 k of campaigns" : "18.2 k held by FCM",
                    tone: health.isWell ? .quiet : .bad,
                    spark: Sparkline.markup(
                        wander(60, around: 20, by: 0.1).enumerated().map { $0 > 46 && !health.isWell ? $1 * 2.3 : $1 }
                    )
                ),
                KeyFigure(
                    "Failed",
                    "1.1",
                    unit: "%",
                    note: "0.4 % gone · 0.7 % rejected",
                    spark: Sparkline.markup(wander(60, around: 420, by: 0.5, seed: 5), .rejected)
                ),
                KeyFigure(
                    "Devices",
                    "2.41 M",
                    note: "1,204 disabled today",
                    spark: Sparkline.markup((0..<60).map { 2.3 + Double($0) * 0.002 })
                ),
            ],
            throughput: throughput,
            latency: latency,
            missing: missing,
            lanes: [
                LaneLine(
                    target: "shop fcm",
                    lane: "normal",
                    ready: health.isWell ? "204" : "18,204",
                    waiting: "0",
                    oldest: health.isWell ? "0.3 s" : "12 min 14 s",
                    tone: health.isWell ? "quiet" : "bad"
                ),
                LaneLine(
                    target: "shop apns",
                    lane: "transactional",
                    ready: "12",
                    waiting: "0",
                    oldest: "0.2 s",
                    tone: "quiet"
                ),
                LaneLine(
                    target: "shop apns",
                    lane: "bulk",
                    ready: "19,400",
                    waiting: "0",
                    oldest: "34 min",
                    tone: "quiet"
                ),
                LaneLine(
                    target: "sender apns",
                    lane: "transactional",
                    ready: "0",
                    waiting: "14",
                    oldest: "0.1 s",
                    tone: "quiet"
                ),
                LaneLine(
                    target: "shop webpush",
                    lane: "normal",
                    ready: "310",
                    waiting: "72",
                    oldest: "1.8 s",
                    tone: "quiet"
                ),
            ],
            outcomes: [
                outcome(.good, "accepted", nil, .accepted, 3_704_112, of: 3_746_401),
                outcome(
                    .busy,
                    "retrying",
                    "throttled",
                    .retrying,
                    21_310,
                    of: 3_746_401,
                    "FCM asks for less; it goes again by itself."
                ),
                outcome(
                    .quiet,
                    "gone",
                    "unregistered",
                    .gone,
                    15_008,
                    of: 3_746_401,
                    "The app was removed: devices are disabled."
                ),
                outcome(
                    .quiet,
                    "rejected",
                    "SENDER_ID_MISMATCH",
                    .rejected,
                    4_870,
                    of: 3_746_401,
                    "The credential is another project's."
                ),
                outcome(.quiet, "expired", nil, .own, 1_101, of: 3_746_401, "Later than the rule's ttl."),
            ],
            campaigns: [blackFriday],
            daemons: [
                DaemonLine(
                    name: "push-1.example.com",
                    badge: Badge(.good, "sends"),
                    version: "0.9.0",
                    started: ago(903_000, .short),
                    seen: "12 s ago",
                    perSecond: "412/s",
                    spark: Sparkline.markup(wander(30, around: 400, by: 0.2)),
                    leads: "plans, audits"
                ),
                DaemonLine(
                    name: "push-2.example.com",
                    badge: Badge(.good, "sends"),
                    version: "0.9.0",
                    started: ago(903_100, .short),
                    seen: "11 s ago",
                    perSecond: "398/s",
                    spark: Sparkline.markup(wander(30, around: 400, by: 0.2, seed: 4)),
                    leads: "schedules"
                ),
                DaemonLine(
                    name: "push-3.example.com",
                    badge: Badge(.busy, "drains"),
                    version: "0.8.4",
                    started: ago(2_400_000, .short),
                    seen: "13 s ago",
                    perSecond: "231/s",
                    spark: Sparkline.markup(wander(30, around: 230, by: 0.3, seed: 8)),
                    leads: "–"
                ),
            ],
            leaders: [
                LeaderLine(
                    role: "scheduler",
                    words: "fires campaigns",
                    daemon: "push-2.example.com"
                ),
                LeaderLine(
                    role: "auditor",
                    words: "counts what was promised",
                    daemon: "push-1.example.com"
                ),
                LeaderLine(role: "listener", words: "hears foreign channels", daemon: nil),
            ]
        )
    }
}
