/// The properties of a metric that swift-metrics does not carry: its meaning, its kind and labels, and the bounds of
/// its histogram.
public struct MetricDescription: Sendable {
    /// The name given to swift-metrics.
    public let label: String
    /// One sentence of help text.
    public let help: String
    /// The upper bounds of a histogram's buckets, ascending and finite, in seconds for a `Timer`; nil for the
    /// registry's defaults.
    public let bounds: [Double]?
    /// The kind, for the documentation; nil if it is not documented.
    ///
    /// The registry uses the kind of the handler that is requested.
    public let kind: MetricKind?
    /// The names of the labels, for the documentation.
    public let labels: [String]

    /// The exposed name; for a histogram the name of a `Timer`.
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
    ///   - label: the name given to swift-metrics.
    ///   - help: one sentence of help text.
    ///   - bounds: the upper bounds of a histogram's buckets, ascending and finite, in seconds for a `Timer`; nil for
    ///     the registry's defaults, and for other kinds.
    ///   - kind: the kind; nil if it is not documented.
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
