internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// The charts and sums of the overview, made once for all viewers.
struct TrafficDigest: Sendable {
    /// The pushes by outcome.
    let throughput: ChartFigure
    /// The latency of accepted pushes.
    let latency: ChartFigure
    /// The reasons why pushes did not arrive.
    let missing: ChartFigure
    let outcomes: [OutcomeLine]
    /// The key figures: accepted, latency, events, failed.
    let figures: [KeyFigure]
    /// The number of devices reported unregistered.
    let gone: Int64

    /// Reads the counts of events and pushes; `now` is the database's time, in microseconds since 1970.
    init(_ window: ConsoleQueries.Window, in database: ToolDatabase, at now: Int64) async throws(ToolError) {
        let (app, step) = (window.app, Int32(window.span.step))
        let since = Timestamp(microseconds: window.span.times(at: now).first ?? now)
        let rows = try await database.run { connection throws(PostgresError) in
            (
                outcomes: try connection.run(SQL.outcomesOverTime(since, step, app)),
                times: try connection.run(SQL.countsOverTime(TrafficKind.latency.rawValue, since, step, app)),
                // Events are those of all apps.
                fates: try connection.run(SQL.countsOverTime(TrafficKind.fate.rawValue, since, step, nil)),
                meanings: try connection.run(SQL.outcomeMeanings())
            )
        }
        self.init(rows, window.span, at: now)
    }

    /// The rows that are counted: outcomes, times from emit to acceptance by the number of their bucket, events that
    /// left the outbox by the number of their fate, and the meanings of the outcomes.
    typealias Rows = (
        outcomes: [OutcomesOverTimeRow], times: [CountsOverTimeRow], fates: [CountsOverTimeRow],
        meanings: [OutcomeMeaningsRow]
    )

    /// Creates the charts and the sums.
    init(_ rows: Rows, _ span: PageSpan, at now: Int64) {
        let times = span.times(at: now)
        let outcomes = StepCounts(rows.outcomes, times)
        var fates = StepCounts<EventFate?>(times)
        for row in rows.fates { fates.add(row.count, of: EventFate(rawValue: row.code), at: row.at.microseconds) }
        let answers = AnswerTimes(rows.times, times)
        throughput = Self.throughput(outcomes, span)
        latency = answers.chart(span)
        missing =
            ReasonChart(
                id: "missing",
                title: "Not delivered, by reason",
                counts: outcomes,
                form: span.form,
                isShown: \.isMissing
            ).figure
        let sums = outcomes.counts.mapValues { $0.reduce(0, +) }.filter(\.key.isEnd)
        self.outcomes = OutcomeLine.lines(sums, [OutcomeKey: String](rows.meanings))
        gone = outcomes.sum(where: \.isGone)
        figures = [
            Self.accepted(outcomes, span, at: now), answers.keyFigure(span), Self.events(fates, span, at: now),
            Self.undelivered(outcomes, span),
        ]
    }

    private static func throughput(_ counts: StepCounts<OutcomeKey>, _ span: PageSpan) -> ChartFigure {
        func series(_ name: String, _ kind: ChartKind, _ isTaken: (OutcomeKey) -> Bool) -> ChartSeries {
            ChartSeries(name: name, kind: kind, values: counts.steps(where: isTaken).map(Double.init))
        }
        return TimeChart(
            id: "throughput",
            title: "Pushes \(span.each)",
            shape: .bars,
            unit: .count,
            times: counts.times,
            series: [
                series("accepted", .accepted) { $0.outcome == "accepted" },
                series("retrying", .retrying) { $0.outcome == "retrying" },
                series("failed", .rejected) { $0.isFailure && !$0.isGone },
                series("gone", .gone, \.isGone),
                // Expired, cancelled, capped and so on: no request was sent.
                series("not sent", .own) { $0.isMissing && !$0.isFailure },
            ],
            form: span.form
        ).figure
    }

    /// Returns the rate per second over the last whole step and the current one, which alone may be too short.
    ///
    /// - Returns: the rate, and the time it covers: `over the last 1 min 24 s`.
    private static func rate(_ steps: [Int64], _ span: PageSpan, at now: Int64) -> (text: String, window: String) {
        let begun = span.times(at: now).last ?? now
        let seconds = Double(span.step) + Double(now - begun) / 1_000_000
        return (
            FigureText.short(Double(steps.suffix(2).reduce(0, +)) / seconds),
            "over the last \(FigureText.duration(seconds.rounded()))"
        )
    }

    private static func accepted(_ counts: StepCounts<OutcomeKey>, _ span: PageSpan, at now: Int64) -> KeyFigure {
        let steps = counts.steps { $0.outcome == "accepted" }
        let rate = rate(steps, span, at: now)
        return KeyFigure(
            "Accepted",
            rate.text,
            unit: "/s",
            note: "\(rate.window) · \(FigureText.short(Double(steps.reduce(0, +)))) in \(span.label)",
            spark: Sparkline.markup(steps.dropLast().map(Double.init), .accepted)
        )
    }

    private static func events(_ counts: StepCounts<EventFate?>, _ span: PageSpan, at now: Int64) -> KeyFigure {
        let steps = counts.steps { _ in true }
        let refused = counts.sum { $0 == .refused }
        let planned = counts.sum { $0 == .planned }
        let all = steps.reduce(0, +)
        let words: [String] =
            all == 0
            ? ["none in \(span.label)"]
            : ["\(FigureText.share(planned, of: all)) planned in \(span.label)"]
                + (refused > 0 ? ["\(FigureText.short(Double(refused))) refused"] : [])
        let rate = rate(steps, span, at: now)
        return KeyFigure(
            "Events",
            rate.text,
            unit: "/s",
            note: ([rate.window] + words).joined(separator: " · "),
            spark: Sparkline.markup(steps.dropLast().map(Double.init))
        )
    }

    /// Returns the deliveries that should have arrived and did not: failed, expired, or to an unregistered device.
    ///
    /// Suppressions do not count.
    private static func undelivered(_ counts: StepCounts<OutcomeKey>, _ span: PageSpan) -> KeyFigure {
        let accepted = counts.sum { $0.outcome == "accepted" }
        let parts: [(count: Int64, word: String)] = [
            (counts.sum { $0.isFailure && !$0.isGone }, "failed"), (counts.sum(where: \.isLate), "expired"),
            (counts.sum(where: \.isGone), "gone"),
        ]
        let missing = parts.reduce(0) { $0 + $1.count }
        let share = FigureText.share(missing, of: accepted + missing)
        let told = parts.filter { $0.count > 0 }.map { "\(FigureText.count($0.count)) \($0.word)" }
        return KeyFigure(
            "Not delivered",
            share.hasSuffix(" %") ? String(share.dropLast(2)) : share,
            unit: share.hasSuffix(" %") ? "%" : nil,
            note: accepted + missing == 0
                ? "nothing sent in \(span.label)"
                : "\(told.isEmpty ? "none" : told.joined(separator: ", ")) in \(span.label)",
            spark: Sparkline.markup(
                counts.steps { $0.isFailure || $0.isLate }.dropLast().map(Double.init),
                .rejected
            )
        )
    }
}
