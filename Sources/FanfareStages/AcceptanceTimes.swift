package import FanfareCore
internal import FanfareMetrics
package import FanfareStore

/// How long accepted pushes took since their events' emit: counted on one thread without a lock, told to the metrics now and then.
///
/// Whole numbers and nothing that is counted by reference: it is done for each push.
package struct AcceptanceTimes {
    /// Upper bounds of all buckets but the last one, in seconds.
    private static let seconds = PipelineMetric.emitToAccepted.bounds ?? []

    /// An accepted push.
    private struct Push {
        var event: Int64
        var trace: TraceContext?
        var took: Microseconds
        var at: Microseconds
    }

    /// What is counted together.
    private struct Place {
        let targetID: Int16
        let lane: Lane
        let target: Target
        var counts = [Int64](repeating: 0, count: AcceptanceTimes.seconds.count + 1)
        /// The last one of each bucket.
        var last = [Push?](repeating: nil, count: AcceptanceTimes.seconds.count + 1)
        var sum: Microseconds = 0
        /// Looked up once.
        var series: HistogramSeries?
    }

    private let bounds = AcceptanceTimes.seconds.map { Microseconds($0 * 1e6) }
    /// Found by going through them: there are as many as targets with traffic have lanes.
    private var places: [Place] = []
    private var isEmpty = true

    /// Counts nothing yet.
    package init() {}

    /// Counts pushes of one event that a provider took at one time; before the emit, as clocks may have it, is no time at all.
    ///
    /// - Parameters:
    ///   - pushes: how many.
    ///   - event: the event, whose id and trace the metrics name as an example.
    ///   - emit: since when they could be sent, in database time.
    ///   - now: when they were accepted, in database time.
    ///   - target: where they went.
    ///   - lane: where they waited.
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

    /// Adds to the metrics what was counted since the last time.
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
