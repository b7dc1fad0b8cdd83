internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// Charts and sums of the overview, made once for all viewers.
struct TrafficDigest: Sendable {
    /// Pushes by what became of them.
    let throughput: ChartFigure
    /// How long accepted pushes took.
    let latency: ChartFigure
    /// Why pushes did not arrive.
    let missing: ChartFigure
    let outcomes: [OutcomeLine]
    /// Accepted, emit to answer, events, failed.
    let figures: [KeyFigure]
    /// How many devices were found gone.
    let gone: Int64

    /// Draws and sums up.
    ///
    /// - Parameters:
    ///   - rows: what became of events and pushes.
    ///   - span: of how much time.
    ///   - now: by the database's clock, in microseconds since 1970.
    init(_ rows: TrafficFigures, _ span: PageSpan, at now: Int64) {
        let times = span.times(at: now)
        var outcomes = StepCounts<OutcomeKey>(times)
        for row in rows.outcomes {
            let key = OutcomeKey(outcome: row.outcome, reason: row.reason)
            outcomes.add(row.pairs, of: key, at: row.at.microseconds)
        }
        var fates = StepCounts<EventFate?>(times)
        for row in rows.fates { fates.add(row.count, of: EventFate(rawValue: row.code), at: row.at.microseconds) }
        let answers = AnswerTimes(rows.times, times)
        throughput = Self.throughput(outcomes, span)
        latency = answers.chart(span)
        missing =
            ReasonChart(
                id: "missing",
                title: "What did not arrive, by reason",
                counts: outcomes,
                form: span.form,
                isShown: \.isMissing
            ).figure
        let sums = outcomes.counts.mapValues { $0.reduce(0, +) }
        self.outcomes = OutcomeLine.lines(sums, [OutcomeKey: String](rows.meanings))
        gone = outcomes.sum(where: \.isGone)
        figures = [
            Self.accepted(outcomes, span, at: now), answers.keyFigure(span), Self.events(fates, span, at: now),
            Self.failed(outcomes, span),
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
                // Past their time, cancelled, capped and so on: never tried.
                series("not sent", .own) { $0.isMissing && !$0.isFailure },
            ],
            form: span.form
        ).figure
    }

    /// So many a second, over the last step that is over and what there is of the one that is not: alone it may have begun just now.
    private static func rate(_ steps: [Int64], _ span: PageSpan, at now: Int64) -> String {
        let begun = span.times(at: now).last ?? now
        let seconds = Double(span.step) + Double(now - begun) / 1_000_000
        return FigureText.short(Double(steps.suffix(2).reduce(0, +)) / seconds)
    }

    private static func accepted(_ counts: StepCounts<OutcomeKey>, _ span: PageSpan, at now: Int64) -> KeyFigure {
        let steps = counts.steps { $0.outcome == "accepted" }
        return KeyFigure(
            "Accepted",
            rate(steps, span, at: now),
            unit: "/s",
            note: "\(FigureText.short(Double(steps.reduce(0, +)))) in \(span.label)",
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
            : ["\(FigureText.share(planned, of: all)) planned"]
                + (refused > 0 ? ["\(FigureText.short(Double(refused))) refused"] : [])
        return KeyFigure(
            "Events",
            rate(steps, span, at: now),
            unit: "/s",
            note: words.joined(separator: " · "),
            spark: Sparkline.markup(steps.dropLast().map(Double.init))
        )
    }

    private static func failed(_ counts: StepCounts<OutcomeKey>, _ span: PageSpan) -> KeyFigure {
        let ended = counts.sum(where: \.isEnd)
        let (failed, gone) = (counts.sum { $0.isFailure && !$0.isGone }, counts.sum(where: \.isGone))
        let share = FigureText.share(failed, of: ended)
        return KeyFigure(
            "Failed",
            share.hasSuffix(" %") ? String(share.dropLast(2)) : share,
            unit: share.hasSuffix(" %") ? "%" : nil,
            note: ended == 0
                ? "nothing ended in \(span.label)"
                : "\(FigureText.count(failed)) in \(span.label) · \(FigureText.share(gone, of: ended)) gone",
            spark: Sparkline.markup(
                counts.steps { $0.isFailure && !$0.isGone }.dropLast().map(Double.init),
                .rejected
            )
        )
    }
}
