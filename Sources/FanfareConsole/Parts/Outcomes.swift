internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareStore
internal import PostgresClient

/// The number of deliveries with one outcome.
struct OutcomeLine: ViewContext {
    let badge: Badge
    /// The provider's or Fanfare's reason; nil if the outcome says it all.
    let reason: String?
    let count: String
    let share: String
    let bar: Markup
    /// The meaning, and the fix.
    let advice: String?
    /// The link to the deliveries.
    let href: String?
}

/// A key figure.
struct KeyFigure: ViewContext {
    let name: String
    /// The number, such as `1.24 k`.
    let value: String
    /// The unit, such as `/s`.
    let unit: String?
    /// The values to compare with: `p95 1.2 s · 15 min`.
    let note: String
    /// The tone; ``Tone/bad`` makes the number red.
    let tone: String
    let spark: Markup

    init(_ name: String, _ value: String, unit: String? = nil, note: String, tone: Tone = .quiet, spark: Markup = .none)
    {
        self.name = name
        self.value = value
        self.unit = unit
        self.note = note
        self.tone = tone.rawValue
        self.spark = spark
    }
}

/// An outcome and its reason, by their names in `fanfare.outcome_codes`.
struct OutcomeKey: Hashable, Sendable {
    let outcome: String
    let reason: String

    /// Whether the delivery failed after an attempt, or the provider reported the device unregistered.
    var isFailure: Bool { isGone || PushText.kind(outcome) == .rejected }
    /// Whether the provider reported the device unregistered.
    var isGone: Bool { outcome == "gone" }
    /// Whether the delivery expired before it was sent.
    var isLate: Bool { outcome == "expired" || outcome == "backlog_dropped" }
    /// Whether the outcome is final.
    var isEnd: Bool { PushText.isFinal(outcome) }
    /// Whether the outcome is final and not `accepted`.
    var isMissing: Bool { isEnd && outcome != "accepted" }
}

extension StepCounts<OutcomeKey> {
    /// Sorts rows into steps.
    ///
    /// - Parameters:
    ///   - rows: the counts over time.
    ///   - times: the start of each step, at equal distances.
    init(_ rows: [OutcomesOverTimeRow], _ times: [Int64]) {
        self.init(times)
        for row in rows {
            add(row.deliveries, of: OutcomeKey(outcome: row.outcome, reason: row.reason), at: row.at.microseconds)
        }
    }
}

extension OutcomeLine {
    /// Returns the deliveries by outcome and reason, the most frequent first.
    ///
    /// - Parameters:
    ///   - counts: the counts by outcome and reason.
    ///   - meanings: the meanings.
    /// - Returns: a line for each count above zero.
    static func lines(_ counts: [OutcomeKey: Int64], _ meanings: [OutcomeKey: String] = [:]) -> [OutcomeLine] {
        let whole = counts.values.reduce(0, +)
        let sorted = counts.filter { $0.value > 0 }.sorted {
            ($1.value, $0.key.outcome, $0.key.reason) < ($0.value, $1.key.outcome, $1.key.reason)
        }
        return sorted.map { key, count in
            let isAccepted = key.outcome == "accepted"
            return OutcomeLine(
                badge: badge(key.outcome),
                reason: isAccepted ? nil : key.reason,
                count: FigureText.count(count),
                share: FigureText.share(count, of: whole),
                bar: ShareBar.markup([(PushText.kind(key.outcome), count)], of: whole),
                advice: isAccepted ? nil : meanings[key],
                href: nil
            )
        }
    }

    private static func badge(_ outcome: String) -> Badge {
        let tone: Tone =
            switch PushText.kind(outcome) {
            case .accepted: .good
            case .retrying: .busy
            case .rejected: .warn
            default: .quiet
            }
        return Badge(tone, outcome.replacing("_", with: " "))
    }
}

extension [OutcomeKey: String] {
    /// Creates a dictionary of meanings by outcome and reason.
    ///
    /// - Parameter rows: the rows of `fanfare.outcome_codes`.
    init(_ rows: [OutcomeMeaningsRow]) {
        self.init(rows.map { (OutcomeKey(outcome: $0.outcome, reason: $0.reason), $0.meaning) }) { $1 }
    }
}
