package import CoreMetrics
package import FanfareCore
package import FanfareStore

/// One sender's share of its target's connection gauges; all senders of a target add to the same series.
///
/// An instance is used by one thread. It is updated at most four times a second, because the transport has to visit
/// each of its connections for the values.
package struct TransportGauges {
    private static let interval = Micros.second / 4

    private struct Part {
        let meter: Meter
        var value = 0
    }

    private var parts: [Part]
    private var checkedAt: Microseconds?

    /// Creates the gauges of a target.
    package init(of target: Target, _ metrics: any MetricsFactory) {
        let place = [("app", target.app), ("provider", target.provider), ("environment", target.environment)]
        let connections = ["open", "opening", "draining"].map { state in
            (PipelineMetric.connections, place + [("state", state)])
        }
        parts = (connections + [(.requestsInFlight, place)]).map { metric, labels in
            Part(meter: Meter(label: metric.rawValue, dimensions: labels, factory: metrics))
        }
    }

    /// Returns whether an update is due.
    ///
    /// - Parameter now: steady time.
    /// - Returns: true at most four times a second.
    package mutating func isDue(at now: Microseconds) -> Bool {
        if let checkedAt, now - checkedAt < Self.interval { return false }
        checkedAt = now
        return true
    }

    /// Updates this sender's share of each series.
    ///
    /// - Parameter values: connections that are open, opening and draining, and requests in flight.
    package mutating func tell(_ values: [Int]) {
        for (index, value) in zip(parts.indices, values) where value != parts[index].value {
            let more = value - parts[index].value
            if more > 0 {
                parts[index].meter.increment(by: Double(more))
            } else {
                parts[index].meter.decrement(by: Double(-more))
            }
            parts[index].value = value
        }
    }

    /// Removes this sender's share from each series when its transport closes.
    package mutating func withdraw() { tell(parts.map { _ in 0 }) }
}
