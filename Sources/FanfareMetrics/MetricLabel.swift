/// One label of a series: a dimension, as swift-metrics calls it.
public struct MetricLabel: Hashable, Comparable, Sendable {
    /// Letters, digits and underscores; what else was given has become underscores.
    public let name: String
    /// Any text.
    public let value: String

    /// Makes a label.
    ///
    /// - Parameters:
    ///   - name: as given; made fit for ``name``.
    ///   - value: any text.
    public init(_ name: String, _ value: String) {
        self.name = ExpositionName.sanitized(name)
        self.value = value
    }

    /// By name, then by value.
    public static func < (first: MetricLabel, second: MetricLabel) -> Bool {
        (first.name, first.value) < (second.name, second.value)
    }

    /// The labels of a series: sorted, so that their order does not matter; of labels of one name the last counts.
    ///
    /// - Parameter dimensions: as swift-metrics hands them over.
    /// - Returns: labels with different names.
    static func sorted(_ dimensions: [(String, String)]) -> [MetricLabel] {
        var values: [String: MetricLabel] = [:]
        for (name, value) in dimensions {
            let label = MetricLabel(name, value)
            values[label.name] = label
        }
        return values.values.sorted()
    }
}
