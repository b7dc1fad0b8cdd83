internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// One app's way to one provider, in one environment.
struct ProviderKey: Hashable, Comparable, Sendable {
    let app: String
    let provider: String
    let environment: String

    /// By app, then provider, production first.
    static func < (first: ProviderKey, second: ProviderKey) -> Bool {
        (first.app, first.provider, first.environment) < (second.app, second.provider, second.environment)
    }
}

/// What providers answered, made once for all viewers.
struct ProviderDigest: Sendable {
    /// When the minutes begin that the cards' rates and reasons are of.
    ///
    /// What is counted of older times is counted by whole minutes: it begins with one, so that all of the time is counted.
    ///
    /// - Parameter now: by the database's clock, in microseconds since 1970.
    /// - Returns: five minutes ago, or up to a minute more, in microseconds since 1970.
    static func recentSince(_ now: Int64) -> Int64 {
        let (span, minute): (Int64, Int64) = (300 * 1_000_000, 60 * 1_000_000)
        return (now - span) / minute * minute
    }

    /// When the minute begins by which is said how a provider does.
    ///
    /// - Parameter now: by the database's clock, in microseconds since 1970.
    /// - Returns: a minute ago, or up to a minute more, in microseconds since 1970.
    static func newestSince(_ now: Int64) -> Int64 { now / 60_000_000 * 60_000_000 - 60_000_000 }

    /// What one of them answered.
    struct Answers: Sendable {
        /// Deliveries by outcome and reason; what a provider was asked about only.
        var counts: [OutcomeKey: Int64] = [:]
        /// When the last one came, in microseconds since 1970, about.
        var lastAt: Int64?

        /// All of them.
        var total: Int64 { counts.values.reduce(0, +) }
        /// What it could not take: to be tried again, since it or the way to it failed.
        var failures: Int64 { counts.filter { $0.key.outcome == "retrying" }.values.reduce(0, +) }
        /// Whether it took nothing, and failed.
        var isDown: Bool { failures > 0 && !counts.contains { $0.key.outcome != "retrying" && $0.value > 0 } }
        /// What it did not take most often, and why.
        var worst: (key: OutcomeKey, count: Int64)? {
            counts.filter { $0.key.outcome != "accepted" }.max { ($0.value, $1.key.reason) < ($1.value, $0.key.reason) }
                .map { ($0.key, $0.value) }
        }
    }

    /// Over the time that is shown.
    let all: [ProviderKey: Answers]
    /// Over the last five minutes.
    let recent: [ProviderKey: Answers]
    /// How long these were, in seconds.
    let recentSeconds: Double
    /// Over the last minute that is over, and what there is of the next.
    let newest: [ProviderKey: Answers]
    /// How long these were, in seconds.
    let newestSeconds: Double
    /// Answers by what they were, over time.
    let answers: ChartFigure
    /// How long accepted pushes took.
    let latency: ChartFigure
    let reasons: [OutcomeLine]
    let meanings: [OutcomeKey: String]

    /// Draws and sums up.
    ///
    /// - Parameters:
    ///   - rows: what providers answered.
    ///   - span: in how much time.
    ///   - now: by the database's clock, in microseconds since 1970.
    init(_ rows: AnswerFigures, _ span: PageSpan, at now: Int64) {
        let times = span.times(at: now)
        all = Self.grouped(rows.answers)
        recent = Self.grouped(rows.recent)
        recentSeconds = Double(now - Self.recentSince(now)) / 1_000_000
        newest = Self.grouped(rows.newest)
        newestSeconds = Double(now - Self.newestSince(now)) / 1_000_000
        meanings = [OutcomeKey: String](rows.meanings)
        var outcomes = StepCounts<OutcomeKey>(times)
        for row in rows.outcomes {
            let key = OutcomeKey(outcome: row.outcome, reason: row.reason)
            outcomes.add(row.deliveries, of: key, at: row.at.microseconds)
        }
        answers = Self.chart(outcomes, span)
        latency = AnswerTimes(rows.times, times).histogram
        var sums: [OutcomeKey: Int64] = [:]
        for (key, count) in all.values.flatMap(\.counts) { sums[key, default: 0] += count }
        reasons = OutcomeLine.lines(sums, meanings)
    }

    private static func grouped(_ rows: [AnswersByReason.Row]) -> [ProviderKey: Answers] {
        var answers: [ProviderKey: Answers] = [:]
        for row in rows {
            let key = OutcomeKey(outcome: row.outcome, reason: row.reason)
            guard key.isAnswer else { continue }
            let target = ProviderKey(app: row.app, provider: row.provider, environment: row.environment)
            var own = answers[target] ?? Answers()
            own.counts[key, default: 0] += row.deliveries
            own.lastAt = max(row.lastAt.microseconds, own.lastAt ?? 0)
            answers[target] = own
        }
        return answers
    }

    private static func chart(_ counts: StepCounts<OutcomeKey>, _ span: PageSpan) -> ChartFigure {
        func series(_ name: String, _ kind: ChartKind, _ outcome: String) -> ChartSeries {
            ChartSeries(
                name: name,
                kind: kind,
                values: counts.steps { $0.isAnswer && $0.outcome == outcome }.map(Double.init)
            )
        }
        return TimeChart(
            id: "answers",
            title: "Responses \(span.each)",
            shape: .bars,
            unit: .count,
            times: counts.times,
            series: [
                series("accepted", .accepted, "accepted"), series("retrying", .retrying, "retrying"),
                series("rejected", .rejected, "rejected"), series("gone", .gone, "gone"),
            ],
            form: span.form
        ).figure
    }
}

extension OutcomeKey {
    /// Whether it is what a provider said, or that it said nothing; what Fanfare keeps back is none.
    var isAnswer: Bool {
        switch outcome {
        case "accepted", "rejected", "gone": true
        case "retrying": reason != "quiet_hours" && reason != "user_snoozed"
        default: false
        }
    }
}
