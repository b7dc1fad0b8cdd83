internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// An app, a provider and an environment.
struct ProviderKey: Hashable, Comparable, Sendable {
    let app: String
    let provider: String
    let environment: String

    /// Orders by app, then provider, production first.
    static func < (first: ProviderKey, second: ProviderKey) -> Bool {
        (first.app, first.provider, first.environment) < (second.app, second.provider, second.environment)
    }
}

/// The answers of providers, made once for all viewers.
struct ProviderDigest: Sendable {
    /// Returns the start of the time that the cards' rates and reasons cover.
    ///
    /// Older counts are kept by whole minutes, so the time starts at a whole minute.
    ///
    /// - Parameter now: the database's time, in microseconds since 1970.
    /// - Returns: five minutes ago, or up to a minute more, in microseconds since 1970.
    static func recentSince(_ now: Int64) -> Int64 {
        let (span, minute): (Int64, Int64) = (300 * 1_000_000, 60 * 1_000_000)
        return (now - span) / minute * minute
    }

    /// Returns the start of the time that decides a provider's health.
    ///
    /// - Parameter now: the database's time, in microseconds since 1970.
    /// - Returns: a minute ago, or up to a minute more, in microseconds since 1970.
    static func newestSince(_ now: Int64) -> Int64 { now / 60_000_000 * 60_000_000 - 60_000_000 }

    /// The answers of one provider.
    struct Answers: Sendable {
        /// The deliveries by outcome and reason, without those that were not sent.
        var counts: [OutcomeKey: Int64] = [:]
        /// The approximate time of the last answer, in microseconds since 1970.
        var lastAt: Int64?

        /// The number of answers.
        var total: Int64 { counts.values.reduce(0, +) }
        /// The attempts that failed at the provider or on the way to it and will be retried.
        var failures: Int64 { counts.filter { $0.key.outcome == "retrying" }.values.reduce(0, +) }
        /// Whether every attempt failed.
        var isDown: Bool { failures > 0 && !counts.contains { $0.key.outcome != "retrying" && $0.value > 0 } }
        /// The most frequent outcome other than `accepted`.
        var worst: (key: OutcomeKey, count: Int64)? {
            counts.filter { $0.key.outcome != "accepted" }.max { ($0.value, $1.key.reason) < ($1.value, $0.key.reason) }
                .map { ($0.key, $0.value) }
        }
    }

    /// The answers over the time shown.
    let all: [ProviderKey: Answers]
    /// The answers over the last five minutes.
    let recent: [ProviderKey: Answers]
    /// The length of ``recent``, in seconds.
    let recentSeconds: Double
    /// The answers over the last whole minute and the current one.
    let newest: [ProviderKey: Answers]
    /// The length of ``newest``, in seconds.
    let newestSeconds: Double
    /// The answers by outcome over time.
    let answers: ChartFigure
    /// The latency of accepted pushes.
    let latency: ChartFigure
    let reasons: [OutcomeLine]
    let meanings: [OutcomeKey: String]

    /// Reads the answers; `now` is the database's time, in microseconds since 1970.
    init(_ window: ConsoleQueries.Window, in database: ToolDatabase, at now: Int64) async throws(ToolError) {
        let (app, step) = (window.app, Int32(window.span.step))
        let since = Timestamp(microseconds: window.span.times(at: now).first ?? now)
        let recent = Timestamp(microseconds: Self.recentSince(now))
        let newest = Timestamp(microseconds: Self.newestSince(now))
        let rows = try await database.run { connection throws(PostgresError) in
            (
                answers: try connection.run(SQL.answersByReason(since, app)),
                recent: try connection.run(SQL.answersByReason(recent, app)),
                newest: try connection.run(SQL.answersByReason(newest, app)),
                outcomes: try connection.run(SQL.outcomesOverTime(since, step, app)),
                times: try connection.run(SQL.countsOverTime(TrafficKind.latency.rawValue, since, step, app)),
                meanings: try connection.run(SQL.outcomeMeanings())
            )
        }
        self.init(rows, window.span, at: now)
    }

    /// The rows that are counted: the answers of three periods, outcomes, times from emit to acceptance by the number
    /// of their bucket, and the meanings of the outcomes.
    typealias Rows = (
        answers: [AnswersByReasonRow], recent: [AnswersByReasonRow], newest: [AnswersByReasonRow],
        outcomes: [OutcomesOverTimeRow], times: [CountsOverTimeRow], meanings: [OutcomeMeaningsRow]
    )

    /// Creates the charts and the sums.
    init(_ rows: Rows, _ span: PageSpan, at now: Int64) {
        let times = span.times(at: now)
        all = Self.grouped(rows.answers)
        recent = Self.grouped(rows.recent)
        recentSeconds = Double(now - Self.recentSince(now)) / 1_000_000
        newest = Self.grouped(rows.newest)
        newestSeconds = Double(now - Self.newestSince(now)) / 1_000_000
        meanings = [OutcomeKey: String](rows.meanings)
        let outcomes = StepCounts(rows.outcomes, times)
        answers = Self.chart(outcomes, span)
        latency = AnswerTimes(rows.times, times).histogram
        var sums: [OutcomeKey: Int64] = [:]
        for (key, count) in all.values.flatMap(\.counts) { sums[key, default: 0] += count }
        reasons = OutcomeLine.lines(sums, meanings)
    }

    private static func grouped(_ rows: [AnswersByReasonRow]) -> [ProviderKey: Answers] {
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
    /// Whether a provider answered, or failed to; false for suppressions.
    var isAnswer: Bool {
        switch outcome {
        case "accepted", "rejected", "gone": true
        case "retrying": reason != "quiet_hours" && reason != "user_snoozed"
        default: false
        }
    }
}
