package import CoreMetrics

/// A counter with labels that looks up the series of each set of values once.
///
/// An instance is used by one thread.
package struct LabelledCounter {
    private let metric: PipelineMetric
    private let labels: [String]
    private let metrics: any MetricsFactory
    private var counters: [[String]: Counter] = [:]

    /// Creates a counter without values.
    ///
    /// - Parameters:
    ///   - metric: the metric.
    ///   - labels: the names of the labels.
    ///   - metrics: the factory of the counters.
    package init(_ metric: PipelineMetric, by labels: [String], _ metrics: any MetricsFactory) {
        self.metric = metric
        self.labels = labels
        self.metrics = metrics
    }

    /// Adds to the counter of a set of values.
    ///
    /// - Parameters:
    ///   - count: the number to add.
    ///   - values: the values of the labels, in the labels' order.
    package mutating func add(_ count: Int64, _ values: String...) {
        let counter = counters[values] ?? Counter(metric, metrics, by: Array(zip(labels, values)))
        counters[values] = counter
        counter.increment(by: count)
    }
}
