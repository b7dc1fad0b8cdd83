internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareTools

/// The outcomes of an event's pushes, as a badge.
struct EventSummary: Sendable {
    private let rows: [EventEndsRow]

    /// Sums the counts.
    ///
    /// - Parameter rows: the counts of one event.
    init(_ rows: [EventEndsRow]) {
        self.rows = rows
    }

    private var deliveries: Int64 { rows.reduce(0) { $0 + $1.deliveries } }
    private var isPart: Bool { rows.contains(where: \.isPart) }

    /// Returns the event's badge in a list.
    ///
    /// - Parameter fate: the event's fate.
    /// - Returns: the badge; the fate's if no push was planned.
    func badge(fate: String) -> Badge {
        guard fate == "planned", let most = rows.max(by: { ($0.deliveries, $1.reason) < ($1.deliveries, $0.reason) })
        else {
            return fate == "waiting" ? Badge(.busy, "not planned yet") : Self.plain(fate)
        }
        if most.outcome == "gathered" { return Badge(.busy, "gathered") }
        if most.outcome == "not_reached" { return Badge(.quiet, "no device") }
        let accepted = count { $0.outcome == "accepted" }
        let held = count { PushText.badge($0.outcome, $0.reason).words == "held" }
        if held > 0, held == count({ !PushText.isFinal($0.outcome) }) { return Badge(.busy, words("held", held)) }
        if rows.contains(where: { !PushText.isFinal($0.outcome) }) { return Badge(.busy, "sending") }
        if accepted > 0 { return Badge(.good, words("delivered", accepted)) }
        return Badge(tone(most), words(PushText.badge(most.outcome, most.reason).words, most.deliveries))
    }

    /// Returns the badge of an event without pushes: unplanned, or its audience is still being expanded.
    private static func plain(_ fate: String) -> Badge {
        fate == "planned" ? Badge(.quiet, "planned") : PushText.badge(fate: fate)
    }

    private func tone(_ row: EventEndsRow) -> Tone { Tone(rawValue: PushText.badge(row.outcome).tone) ?? .quiet }

    private func count(_ isMeant: (EventEndsRow) -> Bool) -> Int64 {
        rows.reduce(0) { isMeant($1) ? $0 + $1.deliveries : $0 }
    }

    /// `delivered`, `delivered 3 of 4`, `delivered 2,970 of 3,000 counted`.
    private func words(_ word: String, _ count: Int64) -> String {
        if isPart { return "\(word) \(FigureText.count(count)) of \(FigureText.count(deliveries)) counted" }
        return count == deliveries ? word : "\(word) \(FigureText.count(count)) of \(FigureText.count(deliveries))"
    }
}
