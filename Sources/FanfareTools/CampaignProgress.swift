public import FanfareCore
internal import FanfareProviders
internal import FanfareStore

/// How far one occurrence of a campaign is.
public struct CampaignProgress: Sendable {
    /// Outcomes after which a pair is still to be sent, or its answer awaited.
    private static let open: Set<String> = ["pending", "attempted", "retrying"]
    private static let width: Int64 = 30

    /// The event that it became.
    public let eventID: Int64
    /// `running`, `aborting`, `done`, `aborted` or `failed`.
    public let state: String
    /// Pairs of event and device that are planned so far.
    public let planned: Int64
    let isRunning: Bool
    /// Attempts, those that were retried too.
    let counts: [PairCount]

    init(_ occurrence: OccurrenceRow, event: Int64, counts: [PairCount]) {
        eventID = event
        state = occurrence.state
        isRunning = occurrence.isRunning
        self.counts = counts
        planned = counts.reduce(0) { $0 + $1.firstAttempts }
    }

    /// Pairs that have their last outcome.
    public var ended: Int64 {
        counts.reduce(0) { $0 + (Self.open.contains($1.outcome) ? 0 : $1.count) }
    }

    /// Pairs that are planned and have no last outcome yet.
    public var left: Int64 { max(0, planned - ended) }

    /// All of it as JSON.
    public var json: JSONValue {
        [
            "event_id": JSONValue(eventID), "state": .string(state), "planned": JSONValue(planned),
            "ended": JSONValue(ended), "left": JSONValue(left),
            "attempts": .array(
                counts.map { count in
                    [
                        "outcome": .string(count.outcome), "reason": .string(count.reason),
                        "count": JSONValue(count.count),
                    ]
                }
            ),
        ]
    }

    /// `running: 620 of 1000 ended, 380 left, 618 accepted`.
    public var line: String {
        let accepted = counts.reduce(0) { $0 + ($1.outcome == "accepted" ? $1.count : 0) }
        return "\(state): \(ended) of \(planned) ended, \(left) left, \(accepted) accepted"
    }

    /// The line behind a bar, for a terminal.
    public var bar: String {
        // Nothing is done of what is not planned yet; what reaches nobody is done once it is over.
        let part = planned > 0 ? Self.width * ended / planned : (isRunning ? 0 : Self.width)
        let full = Int(min(part, Self.width))
        return
            "[\(String(repeating: "#", count: full))\(String(repeating: "-", count: Int(Self.width) - full))] \(line)"
    }

    /// The sum, and a table of attempts by outcome and reason.
    var text: String {
        let sum = "event \(eventID), \(line)"
        guard !counts.isEmpty else { return sum }
        var table = TextTable(["attempts", "outcome", "reason"])
        for count in counts { table.append(["\(count.count)", count.outcome, count.reason]) }
        return "\(sum)\n\(table.text)"
    }
}
