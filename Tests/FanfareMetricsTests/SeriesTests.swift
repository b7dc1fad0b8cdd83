import CoreMetrics
import FanfareMetrics
import Testing

/// The values of counters and histograms.
struct SeriesTests {
    private let registry = MetricsRegistry(describing: [
        MetricDescription("delivery", help: "From commit to answer.", bounds: [0.5, 1, 2.5])
    ])

    private func value(_ name: String) throws -> MetricValue {
        try #require(registry.family(name)?.series.first).value
    }

    private func histogram(_ name: String) throws -> HistogramValue {
        guard case .histogram(let histogram) = try value(name) else { throw NoHistogram() }
        return histogram
    }

    private struct NoHistogram: Error {}

    @Test func aCounterStaysAtTheLargestNumber() throws {
        let counter = Counter(label: "a", factory: registry)
        counter.increment(by: Int64.max - 1)
        counter.increment(by: 5)
        counter.increment(by: Int64.max)
        #expect(try value("a_total") == .whole(.max))
        Counter(label: "a", dimensions: [("b", "c")], factory: registry).increment()
        #expect(registry.family("a_total")?.sum() == .max)
        counter.reset()
        #expect(try value("a_total") == .whole(0))
    }

    @Test func aCounterNeverGoesDown() throws {
        let (counter, fractions) = (
            Counter(label: "a", factory: registry), FloatingPointCounter(label: "a", factory: registry)
        )
        counter.increment(by: 3)
        counter.increment(by: -2)
        for illegal in [-1, 0, Double.nan, .infinity, -.infinity] { fractions.increment(by: illegal) }
        #expect(try value("a_total") == .whole(3))
        fractions.increment(by: 0.25)
        #expect(try value("a_total") == .number(3.25))
        #expect(registry.family("a_total")?.sum() == 3)
        fractions.increment(by: Double.greatestFiniteMagnitude)
        fractions.increment(by: Double.greatestFiniteMagnitude)
        #expect(try value("a_total") == .number(.greatestFiniteMagnitude))
        #expect(registry.family("a_total")?.sum() == .max)
    }

    @Test func bucketsHoldWhatLiesBelowTheirBounds() throws {
        let timer = Timer(label: "delivery", factory: registry)
        timer.recordMilliseconds(500)
        timer.recordMilliseconds(501)
        timer.recordNanoseconds(1)
        timer.recordSeconds(2)
        timer.recordSeconds(100)
        let delivery = try histogram("delivery_seconds")
        #expect(delivery.buckets.map(\.upperBound) == [0.5, 1, 2.5, .infinity])
        #expect(delivery.buckets.map(\.count) == [2, 3, 4, 5])
        #expect(delivery.count == 5)
        #expect(abs(delivery.sum - 103.001000001) < 1e-9)
    }

    @Test func aHistogramWithoutBoundsOfItsOwnHasTheRegistrys() throws {
        Timer(label: "a", factory: registry).recordMilliseconds(7)
        Recorder(label: "b", factory: registry).record(1000)
        let durations = try histogram("a_seconds")
        #expect(durations.buckets.first?.upperBound == 0.001 && durations.buckets.dropLast().last?.upperBound == 300)
        #expect(durations.buckets.first { $0.count > 0 }?.upperBound == 0.01)
        #expect(try histogram("b").buckets.first { $0.count > 0 }?.upperBound == 1024)
    }

    @Test func whatIsNoNumberSpoilsNoSum() throws {
        let recorder = Recorder(label: "a", factory: registry)
        for illegal in [Double.nan, .infinity, -.infinity] { recorder.record(illegal) }
        recorder.record(-4)
        recorder.record(2.5)
        #expect(try histogram("a").count == 2)
        #expect(try histogram("a").sum == -1.5)
        for _ in 0..<2 { recorder.record(Double.greatestFiniteMagnitude) }
        #expect(try histogram("a").sum == .greatestFiniteMagnitude)
        #expect(registry.family("a")?.sum() == 0)
    }
}
