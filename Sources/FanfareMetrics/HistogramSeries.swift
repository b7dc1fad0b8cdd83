public import CoreMetrics
internal import Threading

/// One series of a histogram with fixed bounds.
///
/// Behind a lock: a reader must not see a sum without its count.
public final class HistogramSeries: Series, RecorderHandler, TimerHandler {
    /// For durations in seconds: a fast answer nearby, and a push that waited for five minutes.
    static let durationBounds = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
    ]
    /// For sizes and numbers of things.
    static let amountBounds = [1.0, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576]

    let id: SeriesID
    private let all: Locked<HistogramTally>

    /// Makes an empty series.
    ///
    /// - Parameters:
    ///   - id: its name and labels.
    ///   - bounds: ascending and finite; a value equal to one lies below it.
    init(_ id: SeriesID, bounds: [Double]) {
        self.id = id
        all = Locked(HistogramTally(bounds: bounds))
    }

    var value: MetricValue { .histogram(all.withLock { $0 }.value) }

    /// Counts a value; what is no finite number is ignored, since it would spoil the sum for ever.
    ///
    /// - Parameters:
    ///   - value: the value, in seconds for a duration.
    ///   - exemplar: what led to it; nil keeps the bucket's last one.
    public func observe(_ value: Double, exemplar: Exemplar? = nil) {
        all.withLock { $0.observe(value, exemplar: exemplar) }
    }

    /// Counts values that were counted apart; of other bounds than its own, none.
    ///
    /// - Parameter tally: what is counted once more with each call.
    public func add(_ tally: HistogramTally) {
        all.withLock { $0.add(tally) }
    }

    /// Counts a value.
    ///
    /// - Parameter value: the value.
    public func record(_ value: Int64) { observe(Double(value)) }

    /// Counts a value as ``observe(_:exemplar:)`` does.
    ///
    /// - Parameter value: the value.
    public func record(_ value: Double) { observe(value) }

    /// Counts a duration, in seconds.
    ///
    /// - Parameter duration: in nanoseconds.
    public func recordNanoseconds(_ duration: Int64) { observe(Double(duration) / 1e9) }
}
