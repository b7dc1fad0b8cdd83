internal import FanfareConsoleView

/// `/campaigns`: planned and running campaigns.
struct CampaignListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let running: [CampaignProgressCard]
    let calendar: [CalendarDay]
    /// The time zone of the calendar's days.
    let zone: String
    let rows: [CampaignLine]
    let empty: Empty?
}

/// One current run.
struct CampaignProgressCard: ViewContext {
    let name: String
    let app: String
    let href: String
    let badge: Badge
    let ended: String
    let planned: String
    /// The progress as a number, for the bar; `max` is never zero.
    let value: String
    let max: String
    let percent: String
    /// The send rate, such as `2,400/s`.
    let pace: String
    let ends: Moment?
    /// The remaining time, such as `in 12 min`.
    let remaining: String?
    let failed: String
    /// The reason why the run is held.
    let hold: String?
    /// The outcomes so far.
    let bar: Markup
    let actions: [ActionLink]
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

/// One campaign in the list.
struct CampaignLine: ViewContext {
    let name: String
    let app: String
    let href: String
    let badge: Badge
    let reason: String?
    let schedule: String
    let next: Moment?
    let last: Moment?
    let lastOutcome: Badge?
    let audience: String
}

/// `/campaigns/{app}/{name}`: one campaign.
struct CampaignPage: ViewContext {
    let frame: Frame
    let badge: Badge
    let words: String
    let progress: CampaignProgressCard?
    let canary: CanaryGate?
    let actions: [ActionLink]
    let facts: [Fact]
    let outcomes: [OutcomeLine]
    /// The variants of the newest run; nil if the campaign has none.
    let variants: VariantTable?
    let waves: [WaveLine]
    /// The text in the place of ``waves``.
    let noWaves: String
    let next: [Moment]
    let runs: [RunLine]
    let pager: Pager
    /// The campaign's definition as it was stored.
    let definition: String
    let test: TestForm?
    let preview: CampaignPreview?
    /// The last actions, newest first.
    var actionLog: [ActionLogLine] = []
    var hasActionLog: Bool { !actionLog.isEmpty }
}

/// An action on a campaign.
struct ActionLogLine: ViewContext {
    let at: Moment
    /// The action, such as `pause`.
    let word: String
    /// The token's name.
    let actor: String
    let reason: String?
}

/// The canary: the first part of an audience, after which the rest waits.
struct CanaryGate: ViewContext {
    let badge: Badge
    let words: String
    /// The canary's share of the audience, such as `1 %`.
    let share: String
    let sent: String
    let failed: String
    let limit: String
    /// The time at which the gate opens automatically.
    let opens: Moment?
    let actions: [ActionLink]
}

/// The deliveries of one instant of a campaign by local time.
struct WaveLine: ViewContext {
    let at: Moment
    let zones: String
    let devices: String
    let badge: Badge
}

/// One run of a campaign.
struct RunLine: ViewContext {
    let at: Moment
    let event: PageLink?
    let badge: Badge
    let planned: String
    let accepted: String
    let failed: String
    let took: String
    let bar: Markup
}

/// The form that sends a campaign to one user.
struct TestForm: ViewContext {
    let action: String
    let user: TextField
    let seal: String
    let hint: String
}
