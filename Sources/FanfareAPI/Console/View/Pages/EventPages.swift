/// `/events`: events, the newest first.
struct EventListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let rows: [EventLine]
    let pager: Pager
    /// On all that the filter takes.
    let actions: [ActionLink]
    let empty: Empty?
}

/// One event in a list.
struct EventLine: ViewContext {
    let id: String
    let href: String
    let type: String
    let key: String?
    let at: Moment
    let fate: Badge
    /// Why, where the fate does not say.
    let detail: String?
}

/// `/events/{id}`: one event.
struct EventPage: ViewContext {
    let frame: Frame
    let id: String
    let type: String
    let fate: Badge
    /// What became of it, in a sentence.
    let verdict: String
    let facts: [Fact]
    let actions: [ActionLink]
    let trace: EventTrace
    let rules: [EventRuleLine]
    let audience: [AudienceLine]
    let hasOutcomes = true
    /// Who was left out, and why.
    let suppressed: [OutcomeLine]
    let outcomes: [OutcomeLine]
    /// Where they are asked for.
    let variants: VariantTable?
    let payload: PayloadView
    /// Leads to the user's page.
    let whyNot: FilterForm
    let deliveries: [PushLine]
    let pager: Pager
}

/// From emit to the last answer.
struct EventTrace: ViewContext {
    let steps: [TraceStep]
    /// Of W3C's trace context, as the application gave it.
    let traceID: String?
    /// As in `412 ms from emit to the first answer`.
    let words: String
}

/// One step of it.
struct TraceStep: ViewContext {
    let name: String
    let detail: String
    let at: Moment
    /// Since the first: `+12 ms`.
    let after: String
    /// How long it took; nothing for a moment.
    let took: String?
    let bar: Markup
    let badge: Badge?
}

/// What one rule made of an event.
struct EventRuleLine: ViewContext {
    let name: String
    let href: String
    let badge: Badge
    /// The version, the conditions that hold, and the one that does not.
    let words: String
    let devices: String
}

/// How many devices of one target.
struct AudienceLine: ViewContext {
    let app: String
    let provider: String
    let environment: String
    let devices: String
    let accepted: String
    let failed: String
    let bar: Markup
}

/// An event's payload, or why it is not shown.
struct PayloadView: ViewContext {
    /// Indented by the server from the text that PostgreSQL gives: numbers stay as they are.
    let json: String?
    let hidden: String?
    let size: String
}

/// What became of an event by variant of its message; no rows where no rule has any.
struct VariantTable: ViewContext {
    let rows: [VariantLine]
    /// How much of it was counted; nothing where all was.
    let note: String?
}

/// One variant, or those who got nothing to compare with.
struct VariantLine: ViewContext {
    let rule: String
    let name: String
    let recipients: String
    let accepted: String
    let failed: String
    let share: String
    let bar: Markup
}
