/// The values of one process at about one moment: each value is exact, but they are read one after another.
public struct MetricsSnapshot: Equatable, Sendable {
    /// All metrics, by name.
    public let families: [MetricFamily]
    /// The names that were also requested as another kind; values of those handlers are in no family.
    public let refused: [String]
}

/// A metric with all its series.
public struct MetricFamily: Equatable, Sendable {
    /// The exposed name, such as `fanfare_batches_closed_total`.
    public let name: String
    /// The name first given to swift-metrics, such as `fanfare.batches.closed`.
    public let label: String
    /// The kind.
    public let kind: MetricKind
    /// The help text; empty if the metric has no description.
    public let help: String
    /// The series, sorted by their labels.
    public let series: [MetricSeries]

    /// Assembles a family.
    init(name: String, label: String, kind: MetricKind, help: String, series: [MetricSeries]) {
        (self.name, self.label, self.kind, self.help, self.series) = (name, label, kind, help, series)
    }

    /// Makes a family of values that were just read and that no series counts.
    ///
    /// - Parameters:
    ///   - name: the exposed name; of a counter with `_total`.
    ///   - kind: a gauge or a counter.
    ///   - help: the help text.
    ///   - values: the values by labels.
    public init(_ name: String, _ kind: MetricKind, help: String, values: [(labels: [MetricLabel], value: Double)]) {
        self.init(
            name: name,
            label: name,
            kind: kind,
            help: help,
            series: values.map { MetricSeries(labels: $0.labels.sorted(), value: .number($0.value)) }
        )
    }

    /// Returns the sum of the counts with a label, rounded down to a whole number.
    ///
    /// - Parameter label: the label; nil for all series.
    /// - Returns: at most `Int64.max`; 0 for a histogram.
    public func sum(where label: MetricLabel? = nil) -> Int64 {
        series.reduce(0) { sum, series in
            guard label.map(series.labels.contains) ?? true else { return sum }
            return sum.addingCapped(series.value.whole)
        }
    }
}

/// One set of labels of a metric, with its value.
public struct MetricSeries: Equatable, Sendable {
    /// The labels, sorted by name; the names are distinct.
    public let labels: [MetricLabel]
    /// The present value.
    public let value: MetricValue
}

/// A value, as exact as possible.
public enum MetricValue: Equatable, Sendable {
    /// The value of a counter with whole increments only.
    case whole(Int64)
    /// The value of a gauge, or of a counter with fractions.
    case number(Double)
    /// The value of a histogram.
    case histogram(HistogramValue)

    fileprivate var whole: Int64 {
        switch self {
        case .whole(let count): count
        case .number(let value): Int64(exactly: value.rounded(.down)) ?? (value > 0 ? .max : 0)
        case .histogram: 0
        }
    }
}

/// A distribution of values.
public struct HistogramValue: Equatable, Sendable {
    /// The number of values up to a bound.
    public struct Bucket: Equatable, Sendable {
        /// The bound, inclusive; infinite for the last bucket.
        public let upperBound: Double
        /// The cumulative count, which includes all smaller buckets.
        public let count: Int64
        /// The latest exemplar among the values of this bucket alone.
        public internal(set) var exemplar: Exemplar? = nil
    }

    /// The buckets in the order of their bounds; at least one.
    public let buckets: [Bucket]
    /// The sum of all values, in seconds for a `Timer`.
    public let sum: Double
    /// The number of values.
    public let count: Int64
}
