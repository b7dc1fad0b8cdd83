/// One of the values that a histogram counted, with its cause: where to look for the reason of a long duration.
///
/// An exemplar is made for every value, so its labels are formatted only when they are read.
public struct Exemplar: Equatable, Sendable {
    /// The label's name for ``number``.
    public let name: String
    /// The number that identifies the cause of the value.
    public let number: Int64
    /// The id of the value's trace, 32 hexadecimal digits; nil for none.
    public let traceID: String?
    /// The value itself.
    public let value: Double
    /// When it was measured, in seconds since 1970.
    public let at: Double

    /// Makes an exemplar.
    ///
    /// - Parameters:
    ///   - name: the label's name for the number, at most 30 characters.
    ///   - number: the number that identifies the cause of the value.
    ///   - traceID: the id of the value's trace, 32 hexadecimal digits; nil for none.
    ///   - value: the value.
    ///   - at: when it was measured, in seconds since 1970.
    public init(_ name: String, _ number: Int64, traceID: String? = nil, value: Double, at: Double) {
        (self.name, self.number, self.traceID, self.value, self.at) = (name, number, traceID, value, at)
    }

    /// The labels, under the names that Prometheus and dashboards know; together below OpenMetrics' limit of 128
    /// characters.
    public var labels: [MetricLabel] {
        [MetricLabel(name, "\(number)")] + (traceID.map { [MetricLabel("trace_id", $0)] } ?? [])
    }
}
