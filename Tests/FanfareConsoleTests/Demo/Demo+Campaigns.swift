@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    static let blackFriday = CampaignProgressCard(
        name: "black-friday-early",
        app: "shop",
        href: "/campaigns/shop/black-friday-early",
        badge: Badge(.busy, "running"),
        ended: "812,440",
        planned: "1,204,118",
        value: "812440",
        max: "1204118",
        percent: "67.5 %",
        pace: "2,400/s of 2,500/s",
        ends: ago(-163, .minute),
        remaining: "2 min 43 s",
        failed: "806,112 accepted, 6,328 failed",
        hold: nil,
        bar: ShareBar.markup([(.accepted, 806_112), (.gone, 4_100), (.rejected, 2_228)], of: 812_440),
        actions: [
            ActionLink("Pause", "/campaigns/shop/black-friday-early/pause", .warn),
            ActionLink("Abort", "/campaigns/shop/black-friday-early/abort", .bad),
        ]
    )

    static let held = CampaignProgressCard(
        name: "winter-collection",
        app: "shop",
        href: "/campaigns/shop/winter-collection",
        badge: Badge(.warn, "held by canary"),
        ended: "12,041",
        planned: "12,041",
        value: "12041",
        max: "1204118",
        percent: "1 %",
        pace: "0/s",
        ends: nil,
        remaining: nil,
        failed: "10,596 accepted, 1,445 failed",
        hold: "12 % of the canary failed, at most 2 % may: BadDeviceToken",
        bar: ShareBar.markup([(.accepted, 10_596), (.gone, 1_445)], of: 12_041),
        actions: []
    )

    static var calendar: [CalendarDay] {
        let start = now / 86_400_000_000 * 86_400_000_000 - 3 * 86_400_000_000
        return (0..<21).map { index -> CalendarDay in
            let day = start + Int64(index) * 86_400_000_000
            var entries: [CalendarEntry] = []
            func add(_ hour: Double, _ name: String, _ audience: String?, _ tone: Tone = .quiet) {
                entries.append(
                    CalendarEntry(
                        at: Moment(
                            day + Int64(hour * 3_600_000_000),
                            as: String(CivilDate(day + Int64(hour * 3_600_000_000)).clock.prefix(5))
                        ),
                        name: name,
                        href: "/campaigns/shop/\(name)",
                        tone: tone.rawValue,
                        audience: audience
                    )
                )
            }
            if index >= 3 {
                if index.isMultiple(of: 2) { add(6.5, "abandoned-carts", "by query") }
                if index == 3 { add(14, "black-friday-early", "1.2 M devices", .busy) }
                if index == 4 {
                    add(8, "black-friday", "≈ 2.3 M devices"); add(18, "black-friday-last-hours", "≈ 1.9 M devices")
                }
                if [0, 7, 14].contains(index - 4) { add(9, "weekly-digest", "≈ 410 k devices") }
                if index == 7 { add(7, "cyber-monday", "≈ 2.3 M devices", .warn) }
            }
            let weekday = CivilDate(day).weekday
            return CalendarDay(
                day: Moment(day, .weekday),
                isToday: index == 3,
                isWeekend: weekday > 4,
                isEmpty: entries.isEmpty,
                entries: entries,
                more: index == 4 ? "and 2 more" : nil
            )
        }
    }

    static func campaign(
        _ name: String,
        _ app: String,
        _ badge: Badge,
        _ schedule: String,
        next: Double?,
        last: Double?,
        _ outcome: Badge?,
        _ audience: String,
        reason: String? = nil
    ) -> CampaignLine {
        CampaignLine(
            name: name,
            app: app,
            href: "/campaigns/\(app)/\(name)",
            badge: badge,
            reason: reason,
            schedule: schedule,
            next: next.map { ago(-$0, .short) },
            last: last.map { ago($0, .short) },
            lastOutcome: outcome,
            audience: audience
        )
    }

    static let campaigns = CampaignListPage(
        frame: frame("Campaigns", "Campaigns", stream: "/console/stream?page=campaigns"),
        filter: FilterForm(
            action: "/campaigns",
            fields: [
                choice("app", "App", ["all", "shop", "sender"], chosen: "all"),
                choice("state", "State", ["all", "active", "paused", "refused", "ended"], chosen: "all"),
                FilterField(text: TextField(name: "name", label: "Name", value: "", kind: "search")),
            ],
            active: [],
            clear: "/campaigns",
            isActive: false
        ),
        running: [blackFriday, held],
        calendar: calendar,
        zone: "UTC",
        rows: [
            campaign(
                "black-friday-early",
                "shop",
                Badge(.busy, "running"),
                "once, 26 Nov 14:00 Europe/Madrid",
                next: nil,
                last: 202,
                Badge(.busy, "67.5 %"),
                "1,204,118"
            ),
            campaign(
                "winter-collection",
                "shop",
                Badge(.warn, "held"),
                "once, 26 Nov 12:00 UTC",
                next: nil,
                last: 7_402,
                Badge(.warn, "canary"),
                "1,204,118"
            ),
            campaign(
                "abandoned-carts",
                "shop",
                Badge(.good, "active"),
                "every 2 days at 07:30 local time",
                next: 60_000,
                last: 112_000,
                Badge(.good, "done"),
                "by query"
            ),
            campaign(
                "weekly-digest",
                "shop",
                Badge(.good, "active"),
                "Fri 09:00 local time",
                next: 68_198,
                last: 536_000,
                Badge(.good, "done"),
                "≈ 410 k"
            ),
            campaign(
                "cyber-monday",
                "shop",
                Badge(.bad, "refused"),
                "Mon 30 Nov 07:00 UTC",
                next: nil,
                last: nil,
                nil,
                "≈ 2.3 M",
                reason: "message.apns.payload: 4,301 bytes, at most 4,096"
            ),
            campaign(
                "sender-rota",
                "sender",
                Badge(.quiet, "paused"),
                "every day at 05:00 Europe/Berlin",
                next: nil,
                last: 980_000,
                Badge(.good, "done"),
                "1,890"
            ),
        ],
        empty: nil
    )
}
