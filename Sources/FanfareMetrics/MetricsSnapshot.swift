/// The values of one process at about one moment: each by itself is exact, but they are read one after another.
public struct MetricsSnapshot: Equatable, Sendable {
    /// All metrics, by name.
    public let families: [MetricFamily]
    /// The names that were also asked for as another kind than the one they have; what was counted there is in no family.
    public let refused: [String]
}

/// A metric with all its series.
public struct MetricFamily: Equatable, Sendable {
    /// What it is called outside, as `fanfare_batches_closed_total`.
    public let name: String
    /// What swift-metrics was first given, as `fanfare.batches.closed`.
    public let label: String
    /// What its values mean.
    public let kind: MetricKind
    /// Its meaning in words; empty if nobody described it.
    public let help: String
    /// One for each set of labels, by their labels.
    public let series: [MetricSeries]

    /// Puts values together.
    init(name: String, label: String, kind: MetricKind, help: String, series: [MetricSeries]) {
        (self.name, self.label, self.kind, self.help, self.series) = (name, label, kind, help, series)
    }

    /// Makes a metric of what was just looked up, and is counted nowhere.
    ///
    /// - Parameters:
    ///   - name: what it is called outside; of a counter with `_total`.
    ///   - kind: a gauge or a counter.
    ///   - help: its meaning in words.
    ///   - values: by labels.
    public init(_ name: String, _ kind: MetricKind, help: String, values: [(labels: [MetricLabel], value: Double)]) {
        self.init(
            name: name,
            label: name,
            kind: kind,
            help: help,
            series: values.map { MetricSeries(labels: $0.labels.sorted(), value: .number($0.value)) }
        )
    }

    /// The sum of those counts that have a label, rounded down to a whole number.
    ///
    /// - Parameter label: which; nil takes all of them.
    /// - Returns: at most `Int64.max`; 0 for a histogram.
    public func sum(where label: MetricLabel? = nil) -> Int64 {
        series.reduce(0) { sum, series in
            guard label.map(series.labels.contains) ?? true else { return sum }
            return sum.addingCapped(series.value.whole)
        }
    }
}

/// One set of labels of a metric, and what is measured there.
public struct MetricSeries: Equatable, Sendable {
    /// Sorted by name; no name comes twice.
    public let labels: [MetricLabel]
    /// What it is now.
    public let value: MetricValue
}

/// A value, exact as long as it can be.
public enum MetricValue: Equatable, Sendable {
    /// Of a counter that only counted whole things.
    case whole(Int64)
    /// Of a gauge, or of a counter of fractions.
    case number(Double)
    /// Of a histogram.
    case histogram(HistogramValue)

    fileprivate var whole: Int64 {
        switch self {
        case .whole(let count): count
        case .number(let value): Int64(exactly: value.rounded(.down)) ?? (value > 0 ? .max : 0)
        case .histogram: 0
        }
    }
}

/// How values were distributed.
public struct HistogramValue: Equatable, Sendable {
    /// How many values were at most a bound.
    public struct Bucket: Equatable, Sendable {
        /// The bound itself belongs to it; the last one's is infinite.
        public let upperBound: Double
        /// Those of the smaller buckets are counted too.
        public let count: Int64
        /// The last value of this bucket, and of no smaller one, that something is known of.
        public internal(set) var exemplar: Exemplar? = nil
    }

    /// By their bounds; at least one.
    public let buckets: [Bucket]
    /// All values together, in seconds for a `Timer`.
    public let sum: Double
    /// How many values there were.
    public let count: Int64
}
