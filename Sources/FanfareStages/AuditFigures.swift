package import CoreMetrics
internal import FanfareMetrics
package import PostgresClient
internal import Threading

/// How many of what should not be an audit found.
package struct AuditFigure: Equatable, Sendable {
    package let found: Int64
    /// Since when the oldest waits, by database time.
    package let oldest: Timestamp?

    /// What a check found.
    package init(found: Int64, oldest: Timestamp?) {
        (self.found, self.oldest) = (found, oldest)
    }
}

/// What the audit last found, while this daemon does it.
///
/// Kept here and not read back from its gauges: a figure has a time beside it, and there is none where another daemon audits.
/// Its gauges go with it, so that what was found long ago is not shown beside what the other one finds now.
package final class AuditFigures: Sendable {
    private struct Entry {
        let gauge: Gauge
        var figure: AuditFigure
    }

    private let metrics: any MetricsFactory
    private let entries = Locked<[String: Entry]>([:])

    /// Nothing was found yet.
    ///
    /// - Parameter metrics: what its gauges are made by.
    package init(_ metrics: any MetricsFactory) {
        self.metrics = metrics
    }

    /// The figures by check; empty unless this daemon audits.
    package var figures: [String: AuditFigure] { entries.withLock { $0.mapValues(\.figure) } }

    /// Notes what a check found.
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

    /// Forgets all figures: another daemon may know better.
    package func clear() {
        entries.withLock { entries in
            for entry in entries.values { entry.gauge.destroy() }
            entries = [:]
        }
    }
}
