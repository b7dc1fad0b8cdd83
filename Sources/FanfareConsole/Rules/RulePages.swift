internal import FanfareConsoleView

/// `/rules`: the list of rules, refused ones first.
struct RuleListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let rows: [RuleLine]
    let pager: Pager
    let empty: Empty?
}

/// One rule in the list.
struct RuleLine: ViewContext {
    let name: String
    let app: String
    let href: String
    let event: String
    let audience: String
    let badge: Badge
    /// The reason why it was refused.
    let reason: String?
    let version: String
    let changed: Moment
    /// The accepted pushes of the last seven days.
    let accepted: String
    let spark: Markup
}

/// `/rules/{app}/{name}`: one rule.
struct RulePage: ViewContext {
    let frame: Frame
    let badge: Badge
    let facts: [Fact]
    /// The error in the newest version, and its position.
    let refusal: Notice?
    let outcomes: [OutcomeLine]
    let versions: [RuleVersionLine]
    /// The newest version, indented.
    let definition: String
    /// The difference from the version before: lines with their sign.
    let difference: [DifferenceLine]
    let explain: ExplainPanel
}

/// One version of a rule.
struct RuleVersionLine: ViewContext {
    let version: String
    let href: String
    let badge: Badge
    let reason: String?
    let made: Moment
    let retired: Moment?
    let isShown: Bool
}

/// One line of a difference.
struct DifferenceLine: ViewContext {
    /// `added`, `removed` or `same`.
    let kind: String
    /// `+`, `−` or a space.
    let sign: String
    let words: String
}

/// The trial of a rule with an event that is not emitted.
struct ExplainPanel: ViewContext {
    let action: String
    /// The event's payload, as typed.
    let payload: String
    let problem: String?
    /// The user whose preferences and locale apply.
    let user: TextField
    /// The proof that this browser was shown this page.
    let seal: String
    /// The result of the trial.
    let verdict: Notice?
    let conditions: [WhyCondition]
    let audience: [AudienceLine]
    /// Whether outcomes are shown: a trial has none, because nothing is sent.
    let hasOutcomes = false
    let previews: NotificationPreviews?
}

/// A condition of a rule, and whether it holds.
struct WhyCondition: ViewContext {
    let badge: Badge
    let code: String
}
