internal import CoreMetrics
internal import Threading

/// One series of a histogram with fixed bounds.
///
/// Behind a lock: a reader must not see a sum without its count.
final class HistogramSeries: Series, RecorderHandler, TimerHandler {
    /// For durations in seconds: a fast answer nearby, and a push that waited for five minutes.
    static let durationBounds = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
    ]
    /// For sizes and numbers of things.
    static let amountBounds = [1.0, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576]

    private struct State {
        /// Of each bucket alone; the last one has no bound.
        var counts: [Int64]
        var sum = 0.0
    }

    let id: SeriesID
    private let bounds: [Double]
    private let state: Locked<State>

    /// Makes an empty series.
    ///
    /// - Parameters:
    ///   - id: its name and labels.
    ///   - bounds: ascending and finite; a value equal to one lies below it.
    init(_ id: SeriesID, bounds: [Double]) {
        self.id = id
        self.bounds = bounds
        state = Locked(State(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    var value: MetricValue {
        let state = state.withLock { $0 }
        var count: Int64 = 0
        var buckets: [HistogramValue.Bucket] = []
        for (bound, inside) in zip(bounds + [.infinity], state.counts) {
            count = count.addingCapped(inside)
            buckets.append(HistogramValue.Bucket(upperBound: bound, count: count))
        }
        return .histogram(HistogramValue(buckets: buckets, sum: state.sum, count: count))
    }

    /// Counts a value.
    func record(_ value: Int64) { record(Double(value)) }

    /// Counts a value; what is no finite number is ignored, since it would spoil the sum for ever.
    func record(_ value: Double) {
        guard value.isFinite else { return }
        let place = bounds.firstIndex { value <= $0 } ?? bounds.count
        state.withLock { state in
            state.counts[place] = state.counts[place].addingCapped(1)
            state.sum = state.sum.addingCapped(value)
        }
    }

    /// Counts a duration, in seconds.
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
