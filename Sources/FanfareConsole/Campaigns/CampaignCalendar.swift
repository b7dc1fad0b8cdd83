internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// Whole weeks from this week's Monday, in UTC.
///
/// A campaign by recipients' time is placed at its clock time.
struct CampaignCalendar {
    /// The number of weeks: the current one and three to come.
    private static let weeks = 4
    /// The number of entries shown per day.
    private static let shown = 5
    private static let day: Int64 = 86_400_000_000

    /// One place in the calendar.
    private struct Place {
        let at: Int64
        let entry: CalendarEntry
    }

    private let today: Int64
    private let start: Int64
    private var places: [Int64: [Place]] = [:]
    /// Campaigns with more runs on that day or later than the query returned.
    private var further: [Int64: [String]] = [:]

    /// Sorts coming runs into their days, and this week's past runs.
    ///
    /// - Parameters:
    ///   - listing: all campaigns.
    ///   - now: the time, in microseconds since 1970.
    init(_ listing: CampaignListing, now: Int64) {
        today = now - (now % Self.day + Self.day) % Self.day
        start = today - Int64(CivilDate(now).weekday) * Self.day
        let rows = Dictionary(listing.campaigns.map { ($0.id, $0) }) { $1 }
        let runs = Dictionary(
            listing.running.map { (RuleID(app: $0.run.app, name: $0.run.campaign), CampaignProgressCard.badge($0.run)) }
        ) { first, _ in first }
        for row in listing.campaigns {
            guard let last = row.lastAt?.microseconds, last <= now else { continue }
            let badge = runs[row.id] ?? row.lastState.map(Badge.init(run:))
            add(row, at: last, Moment(last, .clock), tone: badge?.tone ?? Tone.quiet.rawValue, badge?.words)
        }
        for due in listing.due {
            guard let row = rows[due.id] else { continue }
            let at =
                due.isByRecipient
                ? PageTime(due.wall, at: now)?.microseconds ?? due.at.microseconds : due.at.microseconds
            let moment = due.isByRecipient ? Moment(at, as: "\(due.wall.suffix(5)) local") : Moment(at, .clock)
            add(row, at: at, moment, tone: Tone.quiet.rawValue, AudienceText.words(row.inForce ?? row.newest))
            if due.hasMore { further[at - (at - start) % Self.day, default: []].append(row.name) }
        }
    }

    /// The days, from Monday on.
    var days: [CalendarDay] {
        (0..<Self.weeks * 7).map { index in
            let day = start + Int64(index) * Self.day
            let all = (places[day] ?? []).sorted { ($0.at, $0.entry.name) < ($1.at, $1.entry.name) }
            var more = (further[day] ?? []).map { "and so on: \($0)" }
            if all.count > Self.shown { more.insert("and \(all.count - Self.shown) more", at: 0) }
            return CalendarDay(
                day: Moment(day, as: Moment(day, .weekday).words),
                isToday: day == today,
                isWeekend: index % 7 > 4,
                isEmpty: all.isEmpty,
                entries: all.prefix(Self.shown).map(\.entry),
                more: more.isEmpty ? nil : more.joined(separator: "; ")
            )
        }
    }

    private mutating func add(_ row: CampaignRow, at time: Int64, _ moment: Moment, tone: String, _ words: String?) {
        guard time >= start else { return }
        let entry = CalendarEntry(
            at: moment,
            name: row.name,
            href: CampaignProgressCard.href(row.app, row.name),
            tone: tone,
            audience: words
        )
        places[time - (time - start) % Self.day, default: []].append(Place(at: time, entry: entry))
    }
}

/// One day of the calendar.
struct CalendarDay: ViewContext {
    let day: Moment
    let isToday: Bool
    let isWeekend: Bool
    let isEmpty: Bool
    let entries: [CalendarEntry]
    /// The number of further entries.
    let more: String?
}

/// One run in the calendar.
struct CalendarEntry: ViewContext {
    let at: Moment
    let name: String
    let href: String
    let tone: String
    /// The size of the audience, such as `≈ 1.2 M devices`.
    let audience: String?
}
