/// How many deliveries ended in one way.
struct OutcomeLine: ViewContext {
    let badge: Badge
    /// The provider's or Fanfare's word; nothing where the outcome says it all.
    let reason: String?
    let count: String
    let share: String
    let bar: Markup
    /// What it means, and what to do about it.
    let advice: String?
    /// To the deliveries themselves.
    let href: String?
}

/// A number that matters.
struct KeyFigure: ViewContext {
    let name: String
    /// As in `1.24 k`.
    let value: String
    /// As in `/s`.
    let unit: String?
    /// What it is compared with: `p95 1.2 s · 15 min`.
    let note: String
    /// ``Tone/bad`` makes the number red.
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
    /// Nothing while it waits.
    let at: Moment?
}
