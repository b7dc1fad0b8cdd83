/// The kind of a metric.
public enum MetricKind: String, Sendable {
    /// A value that only grows, from zero at the start of the process: swift-metrics' `Counter` and
    /// `FloatingPointCounter`.
    case counter
    /// A value that goes up and down: `Gauge` and `Meter`.
    case gauge
    /// The distribution of values over buckets: `Recorder` and `Timer`.
    case histogram
}
