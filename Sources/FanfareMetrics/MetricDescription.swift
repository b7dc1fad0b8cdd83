/// What swift-metrics has no place for: a metric's meaning in words, and the bounds of its histogram.
public struct MetricDescription: Sendable {
    /// As swift-metrics is given it.
    public let label: String
    /// One sentence for whoever reads the figures.
    public let help: String
    /// The upper bounds of a histogram's buckets, ascending and finite, in seconds for a `Timer`; nil for the registry's own.
    public let bounds: [Double]?

    /// Describes a metric.
    ///
    /// - Parameters:
    ///   - label: as swift-metrics is given it.
    ///   - help: one sentence for whoever reads the figures.
    ///   - bounds: the upper bounds of a histogram's buckets, ascending and finite, in seconds for a `Timer`; nil for the
    ///     registry's own, and for what is no histogram.
    public init(_ label: String, help: String, bounds: [Double]? = nil) {
        let pairs = zip(bounds ?? [], (bounds ?? []).dropFirst())
        precondition(pairs.allSatisfy(<), "the bounds of \(label) do not ascend")
        precondition((bounds ?? []).allSatisfy(\.isFinite), "the bounds of \(label) are not finite")
        self.label = label
        self.help = help
        self.bounds = bounds
    }
}
