package import CoreMetrics
package import FanfareCore
package import FanfareMetrics
package import FanfareStore
internal import Threading

/// The pipeline's counters since the daemon started, for swift-metrics and `fanfare status`.
package final class PipelineCounters: Sendable {
    /// The counts at one moment.
    package struct Snapshot: Sendable {
        /// Events by fate number, without fates that no event had.
        package var eventsByFate: [Int32: Int64] = [:]
        package var batchesClosed: Int64 = 0
        /// Requests that were answered or lost, without those in flight.
        package var requests: Int64 = 0
        package var devicesPruned: Int64 = 0
    }

    /// The factory of the counters.
    package let metrics: any MetricsFactory
    private let registry: MetricsRegistry
    private let batches: Counter
    /// The counters of events by fate number.
    private let events: Locked<[Int32: Counter]>

    /// Creates the counters, starting from the values that `metrics` already has.
    ///
    /// - Parameter metrics: the metrics backend. If its values cannot be read back, a registry is used beside it.
    ///   Daemons that share one backend report their sums.
    package init(_ metrics: any MetricsFactory = MetricsRegistry()) {
        registry = metrics as? MetricsRegistry ?? MetricsRegistry()
        let isReadable = metrics is MetricsRegistry
        self.metrics = isReadable ? metrics : MultiplexMetricsHandler(factories: [registry, metrics])
        batches = Counter(.batchesClosed, self.metrics)
        // All series start at zero, because a rate needs two values.
        let fates = EventFate.allCases.filter { $0 != .waiting }.map { Int32($0.rawValue) }
        events = Locked(
            Dictionary(uniqueKeysWithValues: fates.map { [metrics = self.metrics] in ($0, .events($0, metrics)) })
        )
    }

    /// The counts now.
    package var snapshot: Snapshot {
        var snapshot = Snapshot()
        let events = registry.counter(PipelineMetric.events.rawValue)
        for fate in self.events.withLock({ Array($0.keys) }) {
            let count = events?.sum(where: MetricLabel("fate", EventFate.name(of: fate))) ?? 0
            if count > 0 { snapshot.eventsByFate[fate] = count }
        }
        snapshot.batchesClosed = sum(.batchesClosed)
        snapshot.requests = sum(.requests)
        snapshot.devicesPruned = sum(.devicesDisabled)
        return snapshot
    }

    private func sum(_ metric: PipelineMetric) -> Int64 { registry.counter(metric.rawValue)?.sum() ?? 0 }

    /// Counts events that left the outbox, by fate number.
    package func ended(_ fates: [Int32: Int64]) {
        guard !fates.isEmpty else { return }
        events.withLock { [metrics] events in
            for (fate, count) in fates {
                // The SQL functions of a newer schema may return further fates.
                let counter = events[fate] ?? .events(fate, metrics)
                events[fate] = counter
                counter.increment(by: count)
            }
        }
    }

    /// Counts batches that were moved to the log.
    package func closed(_ count: Int64) { batches.increment(by: count) }

    /// Returns the latency series of a target and lane.
    ///
    /// It is always in this process's own registry, also if the other metrics are sent elsewhere.
    package func acceptances(of target: Target, _ lane: Lane) -> HistogramSeries {
        let labels = [("app", target.app), ("provider", target.provider), ("lane", lane.name)]
        let metric = PipelineMetric.emitToAccepted
        return registry.durations(metric.rawValue, labels, bounds: metric.bounds)
    }

    /// The latencies of accepted pushes so far, by app, provider and lane.
    package var acceptances: [MetricSeries] { registry.timer(PipelineMetric.emitToAccepted.rawValue)?.series ?? [] }

    /// Returns the counter of requests to a target; callers keep it instead of looking it up again.
    package func requests(to target: Target) -> Counter {
        let labels = [("app", target.app), ("provider", target.provider), ("environment", target.environment)]
        return Counter(.requests, metrics, by: labels)
    }
}

extension Counter {
    /// Creates a counter of a pipeline metric.
    package convenience init(
        _ metric: PipelineMetric,
        _ metrics: any MetricsFactory,
        by labels: [(String, String)] = []
    ) {
        self.init(label: metric.rawValue, dimensions: labels, factory: metrics)
    }

    fileprivate static func events(_ fate: Int32, _ metrics: any MetricsFactory) -> Counter {
        Counter(.events, metrics, by: [("fate", EventFate.name(of: fate))])
    }
}

extension EventFate {
    /// Returns the name of a fate; the number itself for fates of newer versions.
    package static func name(of number: Int32) -> String {
        Int16(exactly: number).flatMap(EventFate.init)?.name ?? "\(number)"
    }
}
