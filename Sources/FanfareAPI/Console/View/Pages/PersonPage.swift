/// `/people`: one user, or the question for one.
struct PersonPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    /// Nothing until one is asked for.
    let person: Person?
    let empty: Empty?
}

/// Whom pushes go to.
struct Person: ViewContext {
    let user: String
    /// What can be said at once: `Reached 12 min ago on 2 of 3 devices`.
    let verdict: Notice
    let facts: [Fact]
    let actions: [ActionLink]
    let devices: [DeviceLine]
    /// They are all of one.
    let hasUsers = false
    let preferences: [PreferenceLine]
    let topics: [String]
    /// Whether there are more topics.
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
    /// Why it is disabled.
    let reason: String?
    /// As in `es-MX · America/Mexico_City`.
    let locale: String
    let registered: Moment
    /// Since when it is disabled.
    let disabled: Moment?
    let lastPush: Moment?
    /// A short hash: never the token.
    let token: String
}

/// What a user wants.
struct PreferenceLine: ViewContext {
    let category: String
    let app: String
    let badge: Badge
    let words: String
    let changed: Moment?
}

/// Why a push did not come, or that it did.
struct WhyPanel: ViewContext {
    let form: FilterForm
    /// What it came to.
    let verdict: Notice?
    let steps: [WhyStep]
    /// The last events that were for this user, each with what it came to; while none is asked for.
    let recent: [WhyRecent]
}

/// One step on the way.
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
    /// To its steps.
    let href: String
}
