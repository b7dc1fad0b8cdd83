/// `/`: what needs attention, and how it goes.
struct OverviewPage: ViewContext {
    let frame: Frame
    let health: HealthPanel
    let filter: FilterForm
    let figures: [KeyFigure]
    let throughput: ChartFigure
    let latency: ChartFigure
    /// Why pushes did not arrive.
    let missing: ChartFigure
    let lanes: [LaneLine]
    /// How deliveries of the time shown ended, the most frequent first.
    let outcomes: [OutcomeLine]
    let campaigns: [CampaignProgressCard]
    let daemons: [DaemonLine]
    let leaders: [LeaderLine]
}

/// Problems and fixes.
struct HealthPanel: ViewContext {
    let isWell: Bool
    /// `2 problems need attention`, `All 14 checks passing`.
    let headline: String
    let looked: Moment
    /// What needs attention; the worst first.
    let problems: [HealthProblem]
    /// The checks that pass.
    let checks: [HealthCheck]
}

/// One thing that is ill.
struct HealthProblem: ViewContext {
    /// As `health` has it: `breaker: shop/fcm`.
    let name: String
    /// The problem, in a sentence.
    let words: String
    let tone: String
    let since: Moment?
    /// As in `for 12 min`.
    let lasting: String?
    /// In order.
    let steps: [HealthStep]

    init(_ name: String, _ words: String, _ tone: Tone, since: Moment?, lasting: String?, steps: [HealthStep]) {
        self.name = name
        self.words = words
        self.tone = tone.rawValue
        self.since = since
        self.lasting = lasting
        self.steps = steps
    }
}

/// Something to do.
struct HealthStep: ViewContext {
    let words: String
    var command: String? = nil
    var link: PageLink? = nil
}

/// Something that is well.
struct HealthCheck: ViewContext {
    let name: String
    let detail: String
}

/// What waits for one target in one lane.
struct LaneLine: ViewContext {
    let target: String
    let lane: String
    /// What could be sent now, about.
    let ready: String
    /// Whose time has not come, about.
    let waiting: String
    let oldest: String
    let tone: String
}

/// One running program.
struct DaemonLine: ViewContext {
    let name: String
    let badge: Badge
    let version: String
    let started: Moment
    /// When it said last that it lives: `2 s ago`.
    let seen: String
    let perSecond: String
    let spark: Markup
    let leads: String
}

/// A role that one daemon at a time has.
struct LeaderLine: ViewContext {
    let role: String
    /// What it does.
    let words: String
    let daemon: String?
}
