internal import CoreMetrics
internal import Synchronization

/// One series of a gauge.
final class GaugeSeries: Series, MeterHandler, RecorderHandler {
    let id: SeriesID
    private let current = Atomic<Double>(0)

    /// Makes a series at zero.
    init(_ id: SeriesID) {
        self.id = id
    }

    var value: MetricValue { .number(current.load(ordering: .relaxed)) }

    /// Sets the value, for a `Gauge`.
    func record(_ value: Int64) { set(Double(value)) }

    /// Sets the value, for a `Gauge`.
    func record(_ value: Double) { set(value) }

    /// Sets the value.
    func set(_ value: Int64) { set(Double(value)) }

    /// Sets the value.
    func set(_ value: Double) { current.store(value, ordering: .relaxed) }

    /// Raises the value by a finite positive number; ignores others, as swift-metrics' own meter does.
    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        current.add(amount)
    }

    /// Lowers the value by a finite positive number; ignores others.
    func decrement(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        current.add(-amount)
    }
}
