internal import FanfareConsoleView

/// The deliveries that did not arrive over time: the most frequent reasons, and the sum of the others.
struct ReasonChart {
    /// The number of reasons that are drawn separately.
    private static let shown = 3
    private static let kinds: [ChartKind] = [.first, .second, .third]

    /// An id that is unique on the page.
    let id: String
    let title: String
    /// The counts by outcome and reason.
    let counts: StepCounts<OutcomeKey>
    /// The format of times.
    var form = Moment.Form.minute
    /// Returns whether an outcome is part of the chart.
    let isShown: (OutcomeKey) -> Bool

    /// The chart in its frame.
    var figure: ChartFigure {
        let sums = counts.counts.filter { isShown($0.key) }.mapValues { $0.reduce(0, +) }.filter { $0.value > 0 }
        let ranked = sums.sorted {
            ($1.value, $0.key.outcome, $0.key.reason) < ($0.value, $1.key.outcome, $1.key.reason)
        }
        .map(\.key)
        let named = ranked.prefix(Self.shown)
        var series = zip(named, Self.kinds).map { key, kind in
            ChartSeries(name: Self.name(key), kind: kind, values: values { $0 == key })
        }
        if ranked.count > named.count {
            series.append(
                ChartSeries(name: "others", kind: .own, values: values { isShown($0) && !named.contains($0) })
            )
        }
        return TimeChart(
            id: id,
            title: title,
            shape: .bars,
            unit: .count,
            times: counts.times,
            series: series,
            form: form
        ).figure
    }

    private func values(_ isTaken: (OutcomeKey) -> Bool) -> [Double?] { counts.steps(where: isTaken).map(Double.init) }

    private static func name(_ key: OutcomeKey) -> String {
        key.outcome == key.reason ? key.outcome : "\(key.outcome): \(key.reason)"
    }
}
