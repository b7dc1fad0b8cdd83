public import CoreMetrics
internal import Threading

/// One series of a histogram with fixed bounds.
///
/// Uses a lock, so that a reader never sees a sum without its count.
public final class HistogramSeries: Series, RecorderHandler, TimerHandler {
    /// The bounds for durations in seconds, from fast responses of nearby servers to a push that waited five minutes.
    static let durationBounds = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
    ]
    /// The bounds for sizes and counts.
    static let amountBounds = [1.0, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262_144, 1_048_576]

    let id: SeriesID
    private let all: Locked<HistogramTally>

    /// Makes an empty series.
    ///
    /// - Parameters:
    ///   - id: its name and labels.
    ///   - bounds: ascending and finite; a value equal to a bound belongs to that bound's bucket.
    init(_ id: SeriesID, bounds: [Double]) {
        self.id = id
        all = Locked(HistogramTally(bounds: bounds))
    }

    var value: MetricValue { .histogram(all.withLock { $0 }.value) }

    /// Counts a value; a value that is not finite is ignored, because it would spoil the sum permanently.
    ///
    /// - Parameters:
    ///   - value: the value, in seconds for a duration.
    ///   - exemplar: the value's cause; nil keeps the bucket's last exemplar.
    public func observe(_ value: Double, exemplar: Exemplar? = nil) {
        all.withLock { $0.observe(value, exemplar: exemplar) }
    }

    /// Adds values that were tallied separately; a tally with other bounds is ignored.
    ///
    /// - Parameter tally: the tally; each call adds all of it.
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
