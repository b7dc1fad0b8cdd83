public import CoreMetrics
internal import Threading

/// Keeps the process's own metrics in memory, behind swift-metrics, where `status` can read them.
///
/// A metric is the same for the same label and dimensions, however often it is made, and lives as long as the process:
/// a counter never goes back.
public final class CounterRegistry: MetricsFactory {
    private let cells = Locked<[CounterSample.Identity: MetricCell]>([:])

    /// Makes an empty registry.
    public init() {}

    /// All metrics at this moment, sorted; each is exact, all together no instant.
    ///
    /// - Returns: one sample per label and dimensions.
    public func snapshot() -> [CounterSample] {
        let cells = cells.withLock { $0 }
        return cells.map { CounterSample(identity: $0.key, value: $0.value.value) }
            .sorted { $0.identity < $1.identity }
    }

    private func cell(_ label: String, _ dimensions: [(String, String)], _ value: CounterSample.Value) -> MetricCell {
        let identity = CounterSample.Identity(label: label, dimensions: dimensions)
        return cells.withLock { cells in
            if let cell = cells[identity] { return cell }
            let cell = MetricCell(value)
            cells[identity] = cell
            return cell
        }
    }

    /// Makes or finds a counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        cell(label, dimensions, .counter(0))
    }

    /// Makes or finds a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        cell(label, dimensions, .gauge(0))
    }

    /// Makes or finds a distribution, or a gauge if it does not aggregate.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        cell(label, dimensions, aggregate ? .distribution(.init()) : .gauge(0))
    }

    /// Makes or finds a distribution of seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        cell(label, dimensions, .distribution(.init()))
    }

    /// Does nothing: what was counted stays.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Does nothing: the last value stays.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Does nothing: what was recorded stays.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Does nothing: what was recorded stays.
    public func destroyTimer(_ handler: any TimerHandler) {}
}

/// The value of one metric at one moment.
public struct CounterSample: Equatable, Sendable {
    /// What tells one metric from another.
    public struct Identity: Hashable, Comparable, Sendable {
        /// Name of the metric.
        public let label: String
        /// Names and values, sorted by name.
        public let dimensions: [[String]]

        init(label: String, dimensions: [(String, String)]) {
            self.label = label
            self.dimensions = dimensions.map { [$0.0, $0.1] }.sorted { $0[0] < $1[0] }
        }

        /// Orders by label, then by dimensions.
        public static func < (left: Identity, right: Identity) -> Bool {
            left.label == right.label
                ? left.dimensions.lexicographicallyPrecedes(right.dimensions) { $0.lexicographicallyPrecedes($1) }
                : left.label < right.label
        }
    }

    /// What was measured.
    public enum Value: Equatable, Sendable {
        /// Only grows.
        case counter(Int64)
        /// The last value.
        case gauge(Double)
        /// Single values, summed up; timers in seconds.
        case distribution(Distribution)
    }

    /// A summary of single values.
    public struct Distribution: Equatable, Sendable {
        /// How many there were.
        public var count = 0
        /// Their sum.
        public var sum = 0.0
        /// The greatest; 0 while there was none.
        public var maximum = 0.0

        mutating func record(_ value: Double) {
            maximum = count == 0 ? value : max(maximum, value)
            count += 1
            sum += value
        }
    }

    /// Which metric this is.
    public let identity: Identity
    /// Its value.
    public let value: Value
}
