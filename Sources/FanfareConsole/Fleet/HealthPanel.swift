internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

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

extension HealthPanel {
    /// Creates the panel of problems and passing checks.
    ///
    /// - Parameter status: the state in the database.
    init(_ status: StatusReport) {
        let ill = status.health.filter { !$0.isOK }
        let problems = ill.map { HealthProblem($0, at: status.now.microseconds) }
        self.init(
            isWell: ill.isEmpty,
            headline: ill.isEmpty
                ? "All \(FigureText.counted(Int64(status.health.count), "check")) passing"
                : "\(FigureText.counted(Int64(ill.count), "problem needs", "problems need")) attention",
            looked: Moment(status.now.microseconds, .second),
            // Red problems come first.
            problems: problems.filter { $0.tone == Tone.bad.rawValue }
                + problems.filter { $0.tone != Tone.bad.rawValue },
            checks: status.health.filter(\.isOK).map {
                HealthCheck(name: $0.name.replacing("_", with: " "), detail: $0.detail)
            }
        )
    }
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

extension HealthProblem {
    fileprivate init(_ row: HealthRow, at now: Int64) {
        let advice = HealthAdvice(row)
        self.init(
            row.name,
            advice.words,
            advice.tone,
            since: row.since.map { Moment($0.microseconds, .short) },
            lasting: row.since.map { FigureText.duration(Double(now - $0.microseconds) / 1_000_000) },
            steps: advice.steps
        )
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
