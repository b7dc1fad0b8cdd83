import FanfareRecords
import FanfareTools
import PostgresClient

extension CampaignProgress {
    private static let width: Int64 = 30

    /// `running: 620 of 1000 ended, 618 accepted, 2 failed, 500/s, through at 2026-12-01 09:30 UTC`.
    var line: String { "\(state): \(details)" }

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
    var bar: String {
        // While nothing is planned the bar is empty; a run without recipients shows a full bar once it has ended.
        let part = planned > 0 ? Self.width * ended / planned : (run.isRunning ? 0 : Self.width)
        let full = Int(min(part, Self.width))
        return
            "[\(String(repeating: "#", count: full))\(String(repeating: "-", count: Int(Self.width) - full))] \(line)"
    }

    /// The progress line, and a table of attempts by outcome and reason.
    var text: String {
        var sum = (eventID.map { "event \($0), " } ?? "") + line
        if let experiment = run.experiment {
            let rest = run.winner.map { "; the rest gets \($0)" } ?? ""
            sum += "\n" + "experiment: \(experiment)\(rest)".printable
        }
        guard !attempts.isEmpty else { return sum }
        var table = TextTable(["attempts", "outcome", "reason"])
        for count in attempts { table.append(["\(count.count)", count.outcome, count.reason]) }
        return "\(sum)\n\(table.text)"
    }
}
