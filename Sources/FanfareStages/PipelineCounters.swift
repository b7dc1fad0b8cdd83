package import CoreMetrics
package import FanfareCore
package import FanfareMetrics
package import FanfareStore
internal import Threading

/// What the pipeline did since it began: counted by swift-metrics, and shown by `fanfare status`.
package final class PipelineCounters: Sendable {
    /// The counts at one moment.
    package struct Snapshot: Sendable {
        /// Without those that no event had.
        package var eventsByFate: [Int32: Int64] = [:]
        package var batchesClosed: Int64 = 0
        /// Requests that were answered or lost; what is in flight is not known yet.
        package var requests: Int64 = 0
        package var devicesPruned: Int64 = 0
    }

    /// What counters are made by.
    package let metrics: any MetricsFactory
    private let registry: MetricsRegistry
    private let batches: Counter
    /// By the number of the fate.
    private let events: Locked<[Int32: Counter]>

    /// Makes counters; at zero, where nobody has counted there before.
    ///
    /// - Parameter metrics: what they are made by. One that cannot be read, as it sends its counts elsewhere, gets a registry
    ///   beside it. Daemons that share one show what they did together.
    package init(_ metrics: any MetricsFactory = MetricsRegistry()) {
        registry = metrics as? MetricsRegistry ?? MetricsRegistry()
        let isReadable = metrics is MetricsRegistry
        self.metrics = isReadable ? metrics : MultiplexMetricsHandler(factories: [registry, metrics])
        batches = Counter(.batchesClosed, self.metrics)
        // All from the start: a rate begins with the second value.
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

    /// Counts events that left the outbox, by the numbers of their fates.
    package func ended(_ fates: [Int32: Int64]) {
        guard !fates.isEmpty else { return }
        events.withLock { [metrics] events in
            for (fate, count) in fates {
                // A newer version's statements may know others.
                let counter = events[fate] ?? .events(fate, metrics)
                events[fate] = counter
                counter.increment(by: count)
            }
        }
    }

    /// Counts batches that were moved into the log.
    package func closed(_ count: Int64) { batches.increment(by: count) }

    /// How long accepted pushes took; shown by this process alone where its counts are sent elsewhere.
    package func acceptances(of target: Target, _ lane: Lane) -> HistogramSeries {
        let labels = [("app", target.app), ("provider", target.provider), ("lane", lane.name)]
        let metric = PipelineMetric.emitToAccepted
        return registry.durations(metric.rawValue, labels, bounds: metric.bounds)
    }

    /// How long accepted pushes took until now, by app, provider and lane.
    package var acceptances: [MetricSeries] { registry.timer(PipelineMetric.emitToAccepted.rawValue)?.series ?? [] }

    /// The counter of requests to a target; to be looked up once and kept.
    package func requests(to target: Target) -> Counter {
        let labels = [("app", target.app), ("provider", target.provider), ("environment", target.environment)]
        return Counter(.requests, metrics, by: labels)
    }
}

extension Counter {
    /// Makes a counter of the pipeline.
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
    /// What a fate is called; the number itself where only a newer version knows it.
    package static func name(of number: Int32) -> String {
        Int16(exactly: number).flatMap(EventFate.init)?.name ?? "\(number)"
    }
}
