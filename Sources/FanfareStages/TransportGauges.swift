package import CoreMetrics
package import FanfareCore
package import FanfareStore

/// One sender's part of what is told of its target's connections; all senders of a target have theirs in the same series.
///
/// For one thread. Looked at four times a second at most: what it asks a transport for costs a look at each connection.
package struct TransportGauges {
    private static let interval = Micros.second / 4

    private struct Part {
        let meter: Meter
        var value = 0
    }

    private var parts: [Part]
    private var checkedAt: Microseconds?

    /// Finds the series of a target.
    package init(of target: Target, _ metrics: any MetricsFactory) {
        let place = [("app", target.app), ("provider", target.provider), ("environment", target.environment)]
        let connections = ["open", "opening", "draining"].map { state in
            (PipelineMetric.connections, place + [("state", state)])
        }
        parts = (connections + [(.requestsInFlight, place)]).map { metric, labels in
            Part(meter: Meter(label: metric.rawValue, dimensions: labels, factory: metrics))
        }
    }

    /// Whether it is time to look again.
    ///
    /// - Parameter now: steady time.
    /// - Returns: true four times a second at most.
    package mutating func isDue(at now: Microseconds) -> Bool {
        if let checkedAt, now - checkedAt < Self.interval { return false }
        checkedAt = now
        return true
    }

    /// Changes its part of each series.
    ///
    /// - Parameter values: connections that are open, being opened and draining, and requests in flight.
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

    /// Takes its part out of each series: the transport is closed.
    package mutating func withdraw() { tell(parts.map { _ in 0 }) }
}
