package import CoreMetrics
internal import FanfareMetrics
package import PostgresClient
internal import Threading

/// The number of findings of one audit check.
package struct AuditFigure: Equatable, Sendable {
    package let found: Int64
    /// The time since which the oldest finding has been waiting, in database time; nil if the check has no times.
    package let oldest: Timestamp?

    /// Creates a figure.
    package init(found: Int64, oldest: Timestamp?) {
        (self.found, self.oldest) = (found, oldest)
    }
}

/// The results of the last audit, while this daemon is the one that audits.
///
/// They are stored here instead of being read back from their gauges for two reasons: a gauge has no room for the time
/// of the oldest finding, and when another daemon takes over the audit, the gauges are removed, so that an old value of
/// this daemon is not reported next to the current value of the other.
package final class AuditFigures: Sendable {
    private struct Entry {
        let gauge: Gauge
        var figure: AuditFigure
    }

    private let metrics: any MetricsFactory
    private let entries = Locked<[String: Entry]>([:])

    /// Creates an empty set of figures.
    ///
    /// - Parameter metrics: the factory of the gauges.
    package init(_ metrics: any MetricsFactory) {
        self.metrics = metrics
    }

    /// The figures by check name; empty unless this daemon audits.
    package var figures: [String: AuditFigure] { entries.withLock { $0.mapValues(\.figure) } }

    /// Stores the result of a check and sets its gauge.
    package func found(_ figure: AuditFigure, by check: String) {
        entries.withLock { [metrics] entries in
            let label = PipelineMetric.auditFindings.rawValue
            let gauge =
                entries[check]?.gauge
                ?? Gauge(label: label, dimensions: [("check", check)], factory: metrics)
            entries[check] = Entry(gauge: gauge, figure: figure)
            gauge.record(figure.found)
        }
    }

    /// Removes all figures and gauges when another daemon takes over the audit.
    package func clear() {
        entries.withLock { entries in
            for entry in entries.values { entry.gauge.destroy() }
            entries = [:]
        }
    }
}
