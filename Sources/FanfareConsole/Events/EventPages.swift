internal import FanfareConsoleView

/// `/events`: the list of events, newest first.
struct EventListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let rows: [EventLine]
    let pager: Pager
    /// The actions on all events of the filter.
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
    /// The reason, if the fate does not say it.
    let detail: String?
}

/// `/events/{id}`: one event.
struct EventPage: ViewContext {
    let frame: Frame
    let id: String
    let type: String
    let fate: Badge
    /// The event's fate and outcomes, in a sentence.
    let verdict: String
    let facts: [Fact]
    let actions: [ActionLink]
    let trace: EventTrace
    let rules: [EventRuleLine]
    let audience: [AudienceLine]
    let hasOutcomes = true
    /// The suppressed deliveries by reason.
    let suppressed: [OutcomeLine]
    let outcomes: [OutcomeLine]
    /// The outcomes by variant; nil if the address does not ask for them.
    let variants: VariantTable?
    let payload: PayloadView
    /// The form that leads to the user's page.
    let whyNot: FilterForm
    let deliveries: [PushLine]
    let pager: Pager
}

/// The steps from emit to the last answer.
struct EventTrace: ViewContext {
    let steps: [TraceStep]
    /// The trace id of W3C Trace Context, as the application gave it.
    let traceID: String?
    /// A summary such as `412 ms from emit to the first answer`.
    let words: String
}

/// One step of the trace.
struct TraceStep: ViewContext {
    let name: String
    let detail: String
    let at: Moment
    /// The time since the first step: `+12 ms`.
    let after: String
    /// The step's duration; nil for a point in time.
    let took: String?
    let bar: Markup
    let badge: Badge?
}

/// One rule's verdict on an event.
struct EventRuleLine: ViewContext {
    let name: String
    let href: String
    let badge: Badge
    /// The rule's version, the conditions that hold, and the one that does not.
    let words: String
    let devices: String
}

/// The number of devices of one target.
struct AudienceLine: ViewContext {
    let app: String
    let provider: String
    let environment: String
    let devices: String
    let accepted: String
    let failed: String
    let bar: Markup
}

/// An event's payload, or the reason why it is not shown.
struct PayloadView: ViewContext {
    /// The payload, indented by the server from PostgreSQL's text: numbers stay as they are.
    let json: String?
    let hidden: String?
    let size: String
}

/// The outcomes of an event by variant of its message; no rows if no rule has variants.
struct VariantTable: ViewContext {
    let rows: [VariantLine]
    /// The part that was counted; nil if everything was.
    let note: String?
}

/// One variant, or the hold-out group.
struct VariantLine: ViewContext {
    let rule: String
    let name: String
    let recipients: String
    let accepted: String
    let failed: String
    let share: String
    let bar: Markup
}
