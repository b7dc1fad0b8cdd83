/// What swift-metrics has no place for: a metric's meaning in words, what it is and is told apart by, and the bounds of its histogram.
public struct MetricDescription: Sendable {
    /// As swift-metrics is given it.
    public let label: String
    /// One sentence for whoever reads the figures.
    public let help: String
    /// The upper bounds of a histogram's buckets, ascending and finite, in seconds for a `Timer`; nil for the registry's own.
    public let bounds: [Double]?
    /// What its values mean, for whoever reads about it; nil where nobody says.
    ///
    /// A registry goes by what it is asked for.
    public let kind: MetricKind?
    /// The names of its labels; for whoever reads about it.
    public let labels: [String]

    /// What it is called outside; of a histogram, what a `Timer` is called.
    public var name: String {
        switch kind {
        case .counter: ExpositionName.counter(label)
        case .histogram: ExpositionName.of(label, suffix: "_seconds")
        case .gauge, nil: ExpositionName.of(label)
        }
    }

    /// Describes a metric.
    ///
    /// - Parameters:
    ///   - label: as swift-metrics is given it.
    ///   - help: one sentence for whoever reads the figures.
    ///   - bounds: the upper bounds of a histogram's buckets, ascending and finite, in seconds for a `Timer`; nil for the
    ///     registry's own, and for what is no histogram.
    ///   - kind: what its values mean; nil where nobody needs to know.
    ///   - labels: the names of its labels.
    public init(
        _ label: String,
        help: String,
        bounds: [Double]? = nil,
        kind: MetricKind? = nil,
        labels: [String] = []
    ) {
        let pairs = zip(bounds ?? [], (bounds ?? []).dropFirst())
        precondition(pairs.allSatisfy(<), "the bounds of \(label) do not ascend")
        precondition((bounds ?? []).allSatisfy(\.isFinite), "the bounds of \(label) are not finite")
        self.label = label
        self.help = help
        self.bounds = bounds
        (self.kind, self.labels) = (kind, labels)
    }
}
