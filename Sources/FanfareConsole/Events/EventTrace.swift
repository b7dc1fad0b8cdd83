internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// The steps from emit to the last answer.
struct EventTrace: ViewContext {
    let steps: [TraceStep]
    /// The trace id of W3C Trace Context, as the application gave it.
    let traceID: String?
    /// A summary such as `412 ms from emit to the first answer`.
    let words: String
}

extension EventTrace {
    /// Creates the trace from emit to the last answer, from the times at which batches were planned and closed.
    ///
    /// - Parameters:
    ///   - detail: the event.
    ///   - tally: the outcomes of its pushes.
    ///   - now: the database's time, in microseconds since 1970.
    init(_ detail: EventDetail, _ tally: EventTally, now: Int64) {
        let event = detail.event
        let clock = StepClock(
            begin: event.createdAt.microseconds,
            end: tally.open > 0 ? max(now, tally.answeredAt ?? now) : tally.answeredAt ?? tally.plannedAt ?? 0
        )
        var steps = [clock.step("Emitted", event.key.map { "key \($0)" } ?? "", at: clock.begin)]
        if let at = tally.plannedAt {
            let rules = FigureText.counted(Int64(tally.rules.count), "rule")
            steps.append(
                clock.step("Planned", "\(FigureText.counted(tally.deliveries, "push", "pushes")) of \(rules)", at: at)
            )
        }
        steps += tally.legs.map { clock.step($0) }
        let last = tally.answeredAt.map { FigureText.duration(Double($0 - clock.begin) / 1e6) }
        let words =
            if tally.open > 0 {
                "\(FigureText.counted(tally.open, "push is", "pushes are")) still pending"
            } else if let last {
                "\(last) from emit to the last answer"
            } else {
                "nothing was sent"
            }
        self.init(steps: steps, traceID: detail.traceID, words: words)
    }
}

/// One step of the trace.
struct TraceStep: ViewContext {
    let name: String
    let detail: String
    let at: Moment
    /// The time since the first step: `+12 ms`.
    let after: String
    /// The step's duration; nil for a point in time.
    let took: String?
    let bar: Markup
    let badge: Badge?
}

/// The interval in which the steps of an event are drawn.
private struct StepClock {
    let begin: Int64
    let end: Int64

    /// Returns a step at a point in time, or one that began then.
    func step(
        _ name: String,
        _ detail: String,
        at: Int64,
        until: Int64? = nil,
        _ kind: ChartKind = .first,
        _ badge: Badge? = nil
    ) -> TraceStep {
        let (start, length) = (seconds(at), until.map { seconds($0) - seconds(at) } ?? 0)
        return TraceStep(
            name: name,
            detail: detail,
            at: Moment(at, .second),
            after: "+\(FigureText.duration(start))",
            took: until == nil ? nil : FigureText.duration(length),
            bar: SpanBar.markup(start: start, length: length, of: max(0, Double(end - begin) / 1e6), kind),
            badge: badge
        )
    }

    /// Returns the step of one provider's deliveries.
    func step(_ leg: EventTally.Leg) -> TraceStep {
        var counts: [String: Int64] = [:]
        for row in leg.rows { counts[row.outcome, default: 0] += row.deliveries }
        let order = counts.sorted { ($0.value, $1.key) > ($1.value, $0.key) }
        let isOpen = counts.contains { $0.key != "retrying" && !PushText.isFinal($0.key) }
        let most = order.first?.key ?? "pending"
        let begin = leg.rows.map(\.firstAt.microseconds).min() ?? self.begin
        return step(
            leg.isAgain ? "\(leg.provider), retried" : leg.provider,
            order.map { "\(FigureText.count($0.value)) \(PushText.badge($0.key).words)" }.joined(separator: ", "),
            at: begin,
            until: isOpen ? end : leg.rows.compactMap { $0.lastAt?.microseconds }.max() ?? begin,
            PushText.kind(most),
            isOpen ? Badge(.busy, "sending") : PushText.badge(most)
        )
    }

    private func seconds(_ at: Int64) -> Double { max(0, Double(at - begin) / 1e6) }
}
