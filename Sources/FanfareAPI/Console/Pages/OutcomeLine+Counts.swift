internal import FanfareStore

extension OutcomeLine {
    /// How many deliveries ended in each way, the most frequent first.
    ///
    /// - Parameters:
    ///   - counts: by outcome and reason.
    ///   - meanings: what they mean.
    /// - Returns: a line for each that there is any of.
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
    /// Finds meanings by outcome and reason.
    ///
    /// - Parameter rows: of the table of outcomes.
    init(_ rows: [OutcomeMeanings.Row]) {
        self.init(rows.map { (OutcomeKey(outcome: $0.outcome, reason: $0.reason), $0.meaning) }) { $1 }
    }
}
