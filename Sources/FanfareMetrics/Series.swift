/// The identity of a series.
struct SeriesID: Hashable, Sendable {
    /// The metric's exposed name.
    let family: String
    /// The labels, sorted by name.
    let labels: [MetricLabel]
}

/// The registry's object for one metric and set of labels.
protocol Series: AnyObject, Sendable {
    /// The identity of the series.
    var id: SeriesID { get }
    /// The present value.
    var value: MetricValue { get }
}
