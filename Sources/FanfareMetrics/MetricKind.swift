/// What a metric's values mean.
public enum MetricKind: String, Sendable {
    /// Only grows, from zero at the start of the process: swift-metrics' `Counter` and `FloatingPointCounter`.
    case counter
    /// Goes up and down: `Gauge` and `Meter`.
    case gauge
    /// How often values lay within bounds: `Recorder` and `Timer`.
    case histogram
}
