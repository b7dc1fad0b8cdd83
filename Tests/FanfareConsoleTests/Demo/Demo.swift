@testable import FanfareConsole
@testable import FanfareConsoleView

/// The pages as the operator of a shop would see them, without a database.
enum Demo {
    /// 2026-11-26 14:03:22 UTC.
    static let now: Int64 = 1_795_701_802_000_000

    /// Returns a time before now, or after it if negative.
    static func ago(_ seconds: Double, _ form: Moment.Form = .second) -> Moment {
        Moment(now - Int64(seconds * 1_000_000), form)
    }

    /// Returns the steps of a chart: `count` minutes up to now.
    static func minutes(_ count: Int) -> [Int64] {
        let end = now / 60_000_000 * 60_000_000
        return (0..<count).map { end - Int64(count - 1 - $0) * 60_000_000 }
    }

    /// Returns values that vary around a mean, the same each time.
    static func wander(_ count: Int, around middle: Double, by share: Double, seed: UInt64 = 7) -> [Double] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var drift = 0.0
        return (0..<count).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            let noise = Double(state % 2_000) / 1_000 - 1
            drift = drift * 0.8 + noise * 0.5
            return max(0, middle * (1 + share * drift))
        }
    }

    static func frame(
        _ title: String,
        _ current: String,
        parent: PageLink? = nil,
        stream: String? = nil,
        notice: Notice? = nil,
        isLoggedIn: Bool = true,
        isWell: Bool = false
    ) -> Frame {
        let pages: [(String, String, String, String?)] = [
            ("Overview", "/", "o", "2"), ("Events", "/events", "e", nil), ("People", "/people", "u", nil),
            ("Devices", "/devices", "d", nil), ("Rules", "/rules", "r", "1"), ("Campaigns", "/campaigns", "c", nil),
            ("Providers", "/providers", "v", "1"),
        ]
        return Frame(
            base: "/ops/fanfare",
            title: title,
            parent: parent,
            pages: pages.map {
                NavigationItem(
                    name: $0.0,
                    href: $0.1,
                    key: $0.2,
                    isCurrent: $0.0 == current,
                    alert: isWell ? nil : $0.3
                )
            },
            installation: "production",
            viewer: isLoggedIn ? Viewer(name: "night shift", role: "operator, shop and sender") : nil,
            search: "",
            assets: "3f9a1c",
            stream: stream,
            notice: notice,
            served: ago(0),
            version: "0.9.0"
        )
    }

    static func choice(_ name: String, _ label: String, _ values: [String], chosen: String) -> FilterField {
        FilterField(
            choice: ChoiceField(
                name: name,
                label: label,
                choices: values.map { Choice(value: $0, label: $0, isChosen: $0 == chosen) }
            )
        )
    }

    static func outcome(
        _ tone: Tone,
        _ word: String,
        _ reason: String?,
        _ kind: ChartKind,
        _ count: Int64,
        of whole: Int64,
        _ advice: String? = nil
    ) -> OutcomeLine {
        OutcomeLine(
            badge: Badge(tone, word),
            reason: reason,
            count: FigureText.count(count),
            share: FigureText.share(count, of: whole),
            bar: ShareBar.markup([(kind, count)], of: whole),
            advice: advice,
            href: "/events?outcome=\(word)"
        )
    }

    static let noPager = Pager(shown: "", first: nil, next: nil, searchedTo: nil, further: nil)
}
