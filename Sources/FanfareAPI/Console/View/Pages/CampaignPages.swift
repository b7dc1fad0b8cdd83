/// `/campaigns`: what is planned, and what runs.
struct CampaignListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let running: [CampaignProgressCard]
    let calendar: [CalendarDay]
    /// In which zone the calendar's days are cut.
    let zone: String
    let rows: [CampaignLine]
    let empty: Empty?
}

/// One run that runs.
struct CampaignProgressCard: ViewContext {
    let name: String
    let app: String
    let href: String
    let badge: Badge
    let ended: String
    let planned: String
    /// Both as numbers, for the bar; `max` is never zero.
    let value: String
    let max: String
    let percent: String
    /// As in `2,400/s`.
    let pace: String
    let ends: Moment?
    /// As in `in 12 min`.
    let remaining: String?
    let failed: String
    /// Why it is held.
    let hold: String?
    /// Outcomes so far.
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
    /// How many more there are.
    let more: String?
}

/// One run to come.
struct CalendarEntry: ViewContext {
    let at: Moment
    let name: String
    let href: String
    let tone: String
    /// As in `≈ 1.2 M devices`.
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
    /// Of the newest run; nothing where the campaign has none.
    let variants: VariantTable?
    let waves: [WaveLine]
    /// Stands in the place of ``waves``.
    let noWaves: String
    let next: [Moment]
    let runs: [RunLine]
    let pager: Pager
    /// The campaign as it was put.
    let definition: String
    let test: TestForm?
    let preview: CampaignPreview?
    /// The newest first.
    var actionLog: [ActionLogLine] = []
    var hasActionLog: Bool { !actionLog.isEmpty }
}

/// Something that somebody did to a campaign.
struct ActionLogLine: ViewContext {
    let at: Moment
    /// As in `pause`.
    let word: String
    /// The token's name.
    let actor: String
    let reason: String?
}

/// The first part of an audience, after which the rest waits.
struct CanaryGate: ViewContext {
    let badge: Badge
    let words: String
    /// As in `1 %`.
    let share: String
    let sent: String
    let failed: String
    let limit: String
    /// When it opens by itself.
    let opens: Moment?
    let actions: [ActionLink]
}

/// The part of an audience that one instant of local time takes.
struct WaveLine: ViewContext {
    let at: Moment
    let zones: String
    let devices: String
    let badge: Badge
}

/// One time that a campaign fired.
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

/// Sends a campaign to one user.
struct TestForm: ViewContext {
    let action: String
    let user: TextField
    let seal: String
    let hint: String
}
