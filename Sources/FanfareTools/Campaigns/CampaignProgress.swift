public import FanfareCore
internal import FanfareProviders
package import FanfareRecords

/// The progress of one run of a campaign.
public struct CampaignProgress: Sendable {
    private static let width: Int64 = 30

    /// The run's row.
    package let run: CampaignRun
    /// Attempts by outcome, including those that were retried.
    package let attempts: [AttemptCount]

    /// The run's event; nil if no event was emitted.
    public var eventID: Int64? { run.eventID }
    /// `querying`, `running`, `aborting`, `done`, `aborted` or `failed`.
    public var state: String { run.state }
    /// Deliveries planned so far.
    public var planned: Int64 { run.planned }
    /// Deliveries with a final outcome.
    public var ended: Int64 { run.ended }
    /// Planned deliveries without a final outcome.
    public var left: Int64 { max(0, run.planned - run.ended) }

    /// The progress as JSON.
    public var json: JSONValue {
        [
            "app": .string(run.app), "campaign": .string(run.campaign),
            "run_id": JSONValue(id: run.runID),
            "event_id": JSONValue(id: eventID), "state": .string(state), "hold": JSONValue(orNull: run.hold),
            "is_planning": .bool(run.isPlanning), "planned": JSONValue(planned), "ended": JSONValue(ended),
            "left": JSONValue(left), "accepted": JSONValue(run.accepted), "failed": JSONValue(run.failed),
            "per_second": JSONValue(orNull: run.perSecond.map { Int64($0.rounded()) }),
            "pace": JSONValue(orNull: run.pace.map { Int64($0.rounded()) }),
            "ends_at": run.endsAt.map { JSONValue($0) } ?? .null,
            "attempts": .array(
                attempts.map { count in
                    [
                        "outcome": .string(count.outcome), "reason": .string(count.reason),
                        "count": JSONValue(count.count),
                    ]
                }
            ),
        ]
    }

    /// `running: 620 of 1000 ended, 618 accepted, 2 failed, 500/s, through at 2026-12-01 09:30 UTC`.
    public var line: String { "\(state): \(details)" }

    /// The line without the state.
    var details: String {
        var parts = ["\(ended) of \(planned)\(run.isPlanning ? " so far" : "") ended"]
        parts.append("\(run.accepted) accepted")
        if run.failed > 0 { parts.append("\(run.failed) failed") }
        if let pace = run.pace, pace > 0 { parts.append("\(Int64(pace.rounded()))/s") }
        if let hold = run.hold { parts.append(hold) }
        if let end = run.endsAt, left > 0 { parts.append("through at \(end.minuteText)") }
        return parts.joined(separator: ", ")
    }

    /// The line after a progress bar, for a terminal.
    public var bar: String {
        // While nothing is planned the bar is empty; a run without recipients shows a full bar once it has ended.
        let part = planned > 0 ? Self.width * ended / planned : (run.isRunning ? 0 : Self.width)
        let full = Int(min(part, Self.width))
        return
            "[\(String(repeating: "#", count: full))\(String(repeating: "-", count: Int(Self.width) - full))] \(line)"
    }

    /// The progress line, and a table of attempts by outcome and reason.
    var text: String {
        let sum = (eventID.map { "event \($0), " } ?? "") + line
        guard !attempts.isEmpty else { return sum }
        var table = TextTable(["attempts", "outcome", "reason"])
        for count in attempts { table.append(["\(count.count)", count.outcome, count.reason]) }
        return "\(sum)\n\(table.text)"
    }
}
