/// What a series is known by.
struct SeriesID: Hashable, Sendable {
    /// The metric's, as it is called outside.
    let family: String
    /// Sorted by name.
    let labels: [MetricLabel]
}

/// What a registry keeps of each metric and set of labels.
protocol Series: AnyObject, Sendable {
    /// What it is known by.
    var id: SeriesID { get }
    /// What it is now.
    var value: MetricValue { get }
}
