/// One of the values that a histogram counted, and what led to it: where to look for why it took so long.
///
/// Made for each value, so that its words are put together by whoever reads it only.
public struct Exemplar: Equatable, Sendable {
    /// What ``number`` is, a label's name.
    public let name: String
    /// What led to the value.
    public let number: Int64
    /// The trace that it belongs to, 32 hexadecimal digits; nil for none.
    public let traceID: String?
    /// The value itself.
    public let value: Double
    /// When it was measured, in seconds since 1970.
    public let at: Double

    /// Names a value.
    ///
    /// - Parameters:
    ///   - name: what the number is, a label's name of at most 30 characters.
    ///   - number: what led to the value.
    ///   - traceID: the trace that it belongs to, 32 hexadecimal digits; nil for none.
    ///   - value: the value.
    ///   - at: when it was measured, in seconds since 1970.
    public init(_ name: String, _ number: Int64, traceID: String? = nil, value: Double, at: Double) {
        (self.name, self.number, self.traceID, self.value, self.at) = (name, number, traceID, value, at)
    }

    /// By the names that Prometheus and what draws its figures know; together below OpenMetrics' limit of 128 characters.
    public var labels: [MetricLabel] {
        [MetricLabel(name, "\(number)")] + (traceID.map { [MetricLabel("trace_id", $0)] } ?? [])
    }
}
