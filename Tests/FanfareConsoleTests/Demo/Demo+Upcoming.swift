@testable import FanfareConsole
@testable import FanfareConsoleView

extension Demo {
    /// Two scheduled events: one for all at once, one for what recipients' clocks show.
    static let upcomingLines = [
        UpcomingLine(
            id: "41",
            href: "/upcoming/41/cancel",
            type: "appointment.soon",
            key: "7 at 2026-11-26",
            at: ago(-3_600, .exact),
            local: nil
        ),
        UpcomingLine(
            id: "42",
            href: "/upcoming/42/cancel",
            type: "year.review",
            key: nil,
            at: ago(-86_400, .exact),
            local: "2026-12-31 18:00:00 on each recipient's clock"
        ),
    ]

    static var upcoming: UpcomingPage {
        UpcomingPage(
            frame: frame("Upcoming", "Events", parent: PageLink(name: "Events", href: "/events")),
            filter: FilterForm(action: "/upcoming", fields: [], active: [], clear: "/upcoming", isActive: false),
            rows: upcomingLines,
            pager: Pager(shown: "2 events", next: "/upcoming?after=x", isAscending: true),
            empty: nil
        )
    }
}
