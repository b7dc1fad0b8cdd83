internal import CoreMetrics
internal import Threading

/// One metric's value.
///
/// What does not suit its kind is ignored: a metric never changes its kind.
final class MetricCell: Sendable {
    private let state: Locked<CounterSample.Value>

    init(_ value: CounterSample.Value) { state = Locked(value) }

    var value: CounterSample.Value { state.withLock { $0 } }

    private func setGauge(_ change: (Double) -> Double) {
        state.withLock { value in
            if case .gauge(let old) = value { value = .gauge(change(old)) }
        }
    }
}

extension MetricCell: CounterHandler {
    func increment(by amount: Int64) {
        state.withLock { value in
            // Stays at the end of its range rather than trapping.
            if case .counter(let old) = value {
                let (sum, overflow) = old.addingReportingOverflow(amount)
                value = .counter(overflow ? .max : sum)
            }
        }
    }

    func reset() {
        state.withLock { value in
            if case .counter = value { value = .counter(0) }
        }
    }
}

extension MetricCell: MeterHandler {
    func set(_ new: Int64) { setGauge { _ in Double(new) } }

    func set(_ new: Double) { setGauge { _ in new } }

    func increment(by amount: Double) { setGauge { $0 + amount } }

    func decrement(by amount: Double) { setGauge { $0 - amount } }
}

extension MetricCell: RecorderHandler {
    func record(_ new: Int64) { record(Double(new)) }

    func record(_ new: Double) {
        state.withLock { value in
            switch value {
            case .counter: break
            case .gauge: value = .gauge(new)
            case .distribution(var distribution):
                distribution.record(new)
                value = .distribution(distribution)
            }
        }
    }
}

extension MetricCell: TimerHandler {
    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}
