internal import FanfareConsoleView

/// The number of deliveries with one outcome.
struct OutcomeLine: ViewContext {
    let badge: Badge
    /// The provider's or Fanfare's reason; nil if the outcome says it all.
    let reason: String?
    let count: String
    let share: String
    let bar: Markup
    /// The meaning, and the fix.
    let advice: String?
    /// The link to the deliveries.
    let href: String?
}

/// A key figure.
struct KeyFigure: ViewContext {
    let name: String
    /// The number, such as `1.24 k`.
    let value: String
    /// The unit, such as `/s`.
    let unit: String?
    /// The values to compare with: `p95 1.2 s · 15 min`.
    let note: String
    /// The tone; ``Tone/bad`` makes the number red.
    let tone: String
    let spark: Markup

    init(_ name: String, _ value: String, unit: String? = nil, note: String, tone: Tone = .quiet, spark: Markup = .none)
    {
        self.name = name
        self.value = value
        self.unit = unit
        self.note = note
        self.tone = tone.rawValue
        self.spark = spark
    }
}

/// One push: an event and a device, with its last attempt.
struct PushLine: ViewContext {
    let event: PageLink
    let eventType: String
    let rule: String
    let user: PageLink?
    let device: PageLink
    let provider: String
    let attempt: String
    let badge: Badge
    let reason: String?
    /// The time of the answer; nil while it is pending.
    let at: Moment?
}
