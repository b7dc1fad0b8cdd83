package import CoreMetrics
internal import FanfareStages

/// The counters of what devices report to this daemon.
package struct ReportCounters: Sendable {
    private let taken: [String: Counter]
    private let refused: Counter
    private let ignored: Counter

    /// Creates the counters; all series begin at zero.
    ///
    /// - Parameters:
    ///   - metrics: the factory of the counters.
    ///   - kinds: the names of the kinds of reports.
    package init(_ metrics: any MetricsFactory, kinds: [String]) {
        taken = Dictionary(
            uniqueKeysWithValues: kinds.map { ($0, Counter(.reports, metrics, by: [("kind", $0)])) }
        )
        refused = Counter(.reportsRefused, metrics)
        ignored = Counter(.reportsIgnored, metrics)
    }

    /// Counts one report of a device that is the one it claims to be.
    ///
    /// - Parameter kind: the name of its kind.
    package func take(_ kind: String) { taken[kind]?.increment() }

    /// Counts one report with a void key.
    package func refuse() { refused.increment() }

    /// Counts reports that were taken and not stored.
    ///
    /// - Parameter count: how many.
    package func ignore(_ count: Int) { ignored.increment(by: count) }
}
