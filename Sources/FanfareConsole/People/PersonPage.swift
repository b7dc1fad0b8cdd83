internal import FanfareConsoleView

/// `/people`: one user, or the form that asks for one.
struct PersonPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    /// The user; nil if the address names none.
    let person: Person?
    let empty: Empty?
}

/// A user.
struct Person: ViewContext {
    let user: String
    /// The summary: `Reached 12 min ago on 2 of 3 devices`.
    let verdict: Notice
    let facts: [Fact]
    let actions: [ActionLink]
    let devices: [DeviceLine]
    /// Whether rows name their users: all are of one user.
    let hasUsers = false
    let preferences: [PreferenceLine]
    let topics: [String]
    /// The number of further topics.
    let moreTopics: String?
    let pushes: [PushLine]
    let pager: Pager
    let why: WhyPanel
}

/// One device.
struct DeviceLine: ViewContext {
    let id: String
    let href: String
    let app: String
    let provider: String
    let environment: String
    let user: PageLink?
    let badge: Badge
    /// The reason why it is disabled.
    let reason: String?
    /// Locale and time zone, such as `es-MX · America/Mexico_City`.
    let locale: String
    let registered: Moment
    /// The time at which it was disabled.
    let disabled: Moment?
    let lastPush: Moment?
    /// A short hash of the token; never the token.
    let token: String
}

/// A preference of a user.
struct PreferenceLine: ViewContext {
    let category: String
    let app: String
    let badge: Badge
    let words: String
    let changed: Moment?
}

/// The explanation why a push did not arrive, or that it did.
struct WhyPanel: ViewContext {
    let form: FilterForm
    /// What it came to.
    let verdict: Notice?
    let steps: [WhyStep]
    /// The last events for this user, each with its verdict; only if no event is asked for.
    let recent: [WhyRecent]
}

/// One step of the explanation.
struct WhyStep: ViewContext {
    let at: Moment
    let subject: String
    let badge: Badge
    let words: String?
}

/// One of the last events for a user.
struct WhyRecent: ViewContext {
    let event: PageLink
    let type: String
    let at: Moment
    let badge: Badge
    let words: String?
    /// The link to its steps.
    let href: String
}
