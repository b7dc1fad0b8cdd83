/// `/rules`: rules, the refused ones first.
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
    /// Why it was refused.
    let reason: String?
    let version: String
    let changed: Moment
    /// Accepted in seven days.
    let accepted: String
    let spark: Markup
}

/// `/rules/{app}/{name}`: one rule.
struct RulePage: ViewContext {
    let frame: Frame
    let badge: Badge
    let facts: [Fact]
    /// What is wrong with the newest version, and where.
    let refusal: Notice?
    let outcomes: [OutcomeLine]
    let versions: [RuleVersionLine]
    /// The newest version, indented.
    let definition: String
    /// Against the one before: lines with their sign.
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

/// A rule tried with an event that is not emitted.
struct ExplainPanel: ViewContext {
    let action: String
    /// The event's payload, as it was typed.
    let payload: String
    let problem: String?
    /// Whose preferences and locale count.
    let user: TextField
    /// Proof that this browser was shown this page.
    let seal: String
    /// What the rule would do.
    let verdict: Notice?
    let conditions: [WhyCondition]
    let audience: [AudienceLine]
    /// Nothing is sent.
    let hasOutcomes = false
    let previews: NotificationPreviews?
}

/// A condition of a rule, and whether it holds.
struct WhyCondition: ViewContext {
    let badge: Badge
    let code: String
}
