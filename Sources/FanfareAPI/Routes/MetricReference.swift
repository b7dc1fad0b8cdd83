internal import FanfareMetrics
internal import FanfareService

/// The table of all metrics, as the article has it.
enum MetricReference {
    /// All metrics, in the order of the article.
    static var descriptions: [MetricDescription] { Daemon.metrics + FigureMetric.allCases.map(\.description) }

    /// A table in Markdown, without a trailing newline.
    static var text: String {
        let ofDatabase = Set(FigureMetric.allCases.filter(\.isOfDatabase).map(\.rawValue))
        let rows = descriptions.map { metric in
            let kind = (metric.kind?.rawValue ?? "") + (ofDatabase.contains(metric.name) ? ", of the database" : "")
            let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(metric.name)` | \(kind) | \(labels) | \(metric.help) |"
        }
        return (["| metric | type | labels | meaning |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}
