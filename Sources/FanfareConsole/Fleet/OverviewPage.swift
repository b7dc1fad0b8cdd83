internal import FanfareConsoleView

/// `/`: problems, traffic, backlog and daemons.
struct OverviewPage: ViewContext {
    let frame: Frame
    let health: HealthPanel
    let filter: FilterForm
    let figures: [KeyFigure]
    let throughput: ChartFigure
    let latency: ChartFigure
    /// The reasons why pushes did not arrive.
    let missing: ChartFigure
    let lanes: [LaneLine]
    /// The outcomes of the deliveries of the time shown, the most frequent first.
    let outcomes: [OutcomeLine]
    let campaigns: [CampaignProgressCard]
    let daemons: [DaemonLine]
    let leaders: [LeaderLine]
}

/// Problems and fixes.
struct HealthPanel: ViewContext {
    let isWell: Bool
    /// The headline: `2 problems need attention`, `All 14 checks passing`.
    let headline: String
    let looked: Moment
    /// The problems, the worst first.
    let problems: [HealthProblem]
    /// The checks that pass.
    let checks: [HealthCheck]
}

/// One problem.
struct HealthProblem: ViewContext {
    /// The name in `fanfare.health`: `breaker: shop/fcm`.
    let name: String
    /// The problem, in a sentence.
    let words: String
    let tone: String
    let since: Moment?
    /// The problem's duration, such as `for 12 min`.
    let lasting: String?
    /// The steps that fix it, in order.
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

/// A step that fixes a problem.
struct HealthStep: ViewContext {
    let words: String
    var command: String? = nil
    var link: PageLink? = nil
}

/// A passing check.
struct HealthCheck: ViewContext {
    let name: String
    let detail: String
}

/// The backlog of one target in one lane.
struct LaneLine: ViewContext {
    let target: String
    let lane: String
    /// The estimated number of due deliveries.
    let ready: String
    /// The estimated number of deliveries that are not yet due.
    let waiting: String
    let oldest: String
    let tone: String
}

/// One running daemon.
struct DaemonLine: ViewContext {
    let name: String
    let badge: Badge
    let version: String
    let started: Moment
    /// The time since its last heartbeat: `2 s ago`.
    let seen: String
    let perSecond: String
    let spark: Markup
    let leads: String
}

/// A role that one daemon at a time holds.
struct LeaderLine: ViewContext {
    let role: String
    /// The role's task.
    let words: String
    let daemon: String?
}
