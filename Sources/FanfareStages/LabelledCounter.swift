package import CoreMetrics

/// A counter with labels: each set of their values is looked up once and kept.
///
/// For one thread.
package struct LabelledCounter {
    private let metric: PipelineMetric
    private let labels: [String]
    private let metrics: any MetricsFactory
    private var counters: [[String]: Counter] = [:]

    /// Makes a counter without any values.
    ///
    /// - Parameters:
    ///   - metric: what it counts.
    ///   - labels: their names.
    ///   - metrics: what counters are made by.
    package init(_ metric: PipelineMetric, by labels: [String], _ metrics: any MetricsFactory) {
        self.metric = metric
        self.labels = labels
        self.metrics = metrics
    }

    /// Counts.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - values: of the labels, in their order.
    package mutating func add(_ count: Int64, _ values: String...) {
        let counter = counters[values] ?? Counter(metric, metrics, by: Array(zip(labels, values)))
        counters[values] = counter
        counter.increment(by: count)
    }
}
