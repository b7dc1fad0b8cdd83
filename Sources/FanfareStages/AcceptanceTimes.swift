package import FanfareCore
internal import FanfareMetrics
package import FanfareStore

/// Latencies of accepted pushes, from the event's emit to the provider's acceptance.
///
/// One thread counts without a lock and adds the counts to the metrics from time to time. `count` runs for every push,
/// so it touches only integers and no reference counts.
package struct AcceptanceTimes {
    /// Upper bounds of all buckets but the last, in seconds.
    private static let seconds = PipelineMetric.emitToAccepted.bounds ?? []

    private struct Push {
        var event: Int64
        var trace: TraceContext?
        var took: Microseconds
        var at: Microseconds
    }

    /// The counts of one target and lane.
    private struct Place {
        let targetID: Int16
        let lane: Lane
        let target: Target
        var counts = [Int64](repeating: 0, count: AcceptanceTimes.seconds.count + 1)
        /// The latest push of each bucket, as its exemplar.
        var last = [Push?](repeating: nil, count: AcceptanceTimes.seconds.count + 1)
        var sum: Microseconds = 0
        /// The metric series, looked up once.
        var series: HistogramSeries?
    }

    private let bounds = AcceptanceTimes.seconds.map { Microseconds($0 * 1e6) }
    /// Searched linearly: there is one entry for each lane of each target that has traffic.
    private var places: [Place] = []
    private var isEmpty = true

    /// Creates empty counts.
    package init() {}

    /// Counts pushes of one event that a provider accepted at the same time.
    ///
    /// A negative latency, which clock differences can produce, counts as zero.
    ///
    /// - Parameters:
    ///   - pushes: the number of pushes.
    ///   - event: the event; the exemplar carries its id and trace.
    ///   - emit: the time from which the event could be sent, in database time.
    ///   - now: the time of acceptance, in database time.
    ///   - target: the target that the pushes went to.
    ///   - lane: the lane that the pushes were claimed from.
    package mutating func count(
        _ pushes: Int,
        of event: EventRow,
        since emit: Microseconds,
        at now: Microseconds,
        to target: Target,
        _ lane: Lane
    ) {
        guard pushes > 0 else { return }
        let took = max(0, now &- emit)
        var bucket = 0
        while bucket < bounds.count, bounds[bucket] < took { bucket += 1 }
        let index = place(of: target, lane)
        places[index].counts[bucket] &+= Int64(pushes)
        places[index].sum &+= took &* Int64(pushes)
        places[index].last[bucket] = Push(event: event.id, trace: event.trace, took: took, at: now)
        isEmpty = false
    }

    private mutating func place(of target: Target, _ lane: Lane) -> Int {
        for index in places.indices where places[index].targetID == target.id && places[index].lane == lane {
            return index
        }
        places.append(Place(targetID: target.id, lane: lane, target: target))
        return places.count - 1
    }

    /// Adds the counts since the last call to the metrics.
    package mutating func tell(_ counters: PipelineCounters) {
        guard !isEmpty else { return }
        for index in places.indices where places[index].counts.contains(where: { $0 > 0 }) {
            let place = places[index]
            let series = place.series ?? counters.acceptances(of: place.target, place.lane)
            series.add(
                HistogramTally(
                    bounds: Self.seconds,
                    counts: place.counts,
                    sum: Double(place.sum) / 1e6,
                    exemplars: place.last.map { $0.map(Self.exemplar) }
                )
            )
            places[index] = Place(targetID: place.targetID, lane: place.lane, target: place.target, series: series)
        }
        isEmpty = true
    }

    private static func exemplar(_ push: Push) -> Exemplar {
        Exemplar(
            "event_id",
            push.event,
            traceID: push.trace?.traceID,
            value: Double(push.took) / 1e6,
            at: Double(push.at) / 1e6
        )
    }
}
