internal import FanfareRecords

extension OutcomeLine {
    /// Returns the deliveries by outcome and reason, the most frequent first.
    ///
    /// - Parameters:
    ///   - counts: the counts by outcome and reason.
    ///   - meanings: the meanings.
    /// - Returns: a line for each count above zero.
    static func lines(_ counts: [OutcomeKey: Int64], _ meanings: [OutcomeKey: String]) -> [OutcomeLine] {
        let whole = counts.values.reduce(0, +)
        let sorted = counts.filter { $0.value > 0 }.sorted {
            ($1.value, $0.key.outcome, $0.key.reason) < ($0.value, $1.key.outcome, $1.key.reason)
        }
        return sorted.map { key, count in
            let isAccepted = key.outcome == "accepted"
            return OutcomeLine(
                badge: Badge(outcome: key.outcome),
                reason: isAccepted ? nil : key.reason,
                count: FigureText.count(count),
                share: FigureText.share(count, of: whole),
                bar: ShareBar.markup([(ChartKind(ending: key.outcome) ?? .retrying, count)], of: whole),
                advice: isAccepted ? nil : meanings[key],
                href: nil
            )
        }
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
