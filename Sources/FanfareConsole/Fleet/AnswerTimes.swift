internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// The latency of accepted pushes since their events' emit, step by step.
struct AnswerTimes: Sendable {
    private let times: [Int64]
    private var steps: [TimeClasses]
    /// The counts over all steps.
    private(set) var all = TimeClasses(ToolDatabase.latencyBounds)

    /// Sorts counts into steps.
    ///
    /// - Parameters:
    ///   - rows: counts by latency class.
    ///   - times: the start of each step, in microseconds since 1970.
    init(_ rows: [CountsOverTimeRow], _ times: [Int64]) {
        self.times = times
        steps = [TimeClasses](repeating: TimeClasses(ToolDatabase.latencyBounds), count: times.count)
        for row in rows {
            guard let index = times.lastIndex(where: { $0 <= row.at.microseconds }) else { continue }
            steps[index].add(row.count, Int(row.code))
            all.add(row.count, Int(row.code))
        }
    }

    /// Draws three percentiles over time; steps without accepted pushes are gaps.
    ///
    /// - Parameter span: the time shown.
    /// - Returns: the chart.
    func chart(_ span: PageSpan) -> ChartFigure {
        TimeChart(
            id: "latency",
            title: "Emit to accepted, campaigns excluded",
            shape: .lines,
            unit: .seconds,
            times: times,
            series: [(0.5, "p50", ChartKind.first), (0.95, "p95", .second), (0.99, "p99", .third)].map {
                share,
                name,
                kind in
                ChartSeries(
                    name: name,
                    kind: kind,
                    values: steps.map { $0.quantile(share) },
                    whole: all.quantile(share)
                )
            },
            form: span.form
        ).figure
    }

    /// Returns the median over the whole time, with the other percentiles as its note.
    ///
    /// - Parameter span: the time shown.
    /// - Returns: the figure.
    func keyFigure(_ span: PageSpan) -> KeyFigure {
        let name = "Emit to accepted"
        guard let middle = all.quantile(0.5), let most = all.quantile(0.95), let nearlyAll = all.quantile(0.99) else {
            return KeyFigure(name, "–", note: "nothing accepted in \(span.label), campaigns excluded")
        }
        return KeyFigure(
            name,
            FigureText.duration(middle),
            note: "p95 \(FigureText.duration(most)) · p99 \(FigureText.duration(nearlyAll)) · without campaigns",
            spark: Sparkline.markup(steps.map { $0.quantile(0.5) })
        )
    }

    /// The number of pushes in each latency class.
    var histogram: ChartFigure {
        Histogram(
            id: "latency",
            title: "Emit to accepted, campaigns excluded",
            counted: "pushes",
            classes: all.merged(at: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300])
        ).figure
    }
}
