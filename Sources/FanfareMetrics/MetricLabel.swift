/// One label of a series; swift-metrics calls it a dimension.
public struct MetricLabel: Hashable, Comparable, Sendable {
    /// Letters, digits and underscores; other characters are replaced by underscores.
    public let name: String
    /// Any text.
    public let value: String

    /// Makes a label.
    ///
    /// - Parameters:
    ///   - name: any text; converted for ``name``.
    ///   - value: any text.
    public init(_ name: String, _ value: String) {
        self.name = ExpositionName.sanitized(name)
        self.value = value
    }

    /// Orders labels by name, then by value.
    public static func < (first: MetricLabel, second: MetricLabel) -> Bool {
        (first.name, first.value) < (second.name, second.value)
    }

    /// Returns the labels of a series, sorted so that their order does not matter; the last of several labels with one
    /// name wins.
    ///
    /// - Parameter dimensions: the dimensions from swift-metrics.
    /// - Returns: labels with distinct names.
    static func sorted(_ dimensions: [(String, String)]) -> [MetricLabel] {
        var values: [String: MetricLabel] = [:]
        for (name, value) in dimensions {
            let label = MetricLabel(name, value)
            values[label.name] = label
        }
        return values.values.sorted()
    }
}
