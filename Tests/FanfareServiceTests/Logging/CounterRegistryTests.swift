import CoreMetrics
import FanfareService
import Testing
import Threading

@Suite struct CounterRegistryTests {
    @Test func metricsAreReadBackByLabelAndDimensions() {
        let registry = CounterRegistry()
        let accepted = Counter(label: "pushes", dimensions: [("outcome", "accepted")], factory: registry)
        accepted.increment(by: 3)
        Counter(label: "pushes", dimensions: [("outcome", "accepted")], factory: registry).increment()
        Counter(label: "pushes", dimensions: [("outcome", "gone")], factory: registry).increment()
        Gauge(label: "depth", dimensions: [], factory: registry).record(7)
        Meter(label: "open", dimensions: [], factory: registry).increment(by: 2.5)
        let timer = Timer(label: "lag", dimensions: [], preferredDisplayUnit: .seconds, factory: registry)
        timer.recordMilliseconds(250)
        timer.recordMilliseconds(750)

        let samples = registry.snapshot()
        #expect(samples.map(\.identity.label) == ["depth", "lag", "open", "pushes", "pushes"])
        #expect(samples[0].value == .gauge(7))
        guard case .distribution(let lag) = samples[1].value else {
            Issue.record("lag is \(samples[1].value)")
            return
        }
        #expect(lag.count == 2)
        #expect(lag.sum == 1)
        #expect(lag.maximum == 0.75)
        #expect(samples[2].value == .gauge(2.5))
        #expect(samples[3].value == .counter(4))
        #expect(samples[3].identity.dimensions == [["outcome", "accepted"]])
        #expect(samples[4].value == .counter(1))
    }

    @Test func aCounterThatIsMadeAgainGoesOn() {
        let registry = CounterRegistry()
        let counter = Counter(label: "n", dimensions: [], factory: registry)
        counter.increment(by: Int64.max)
        counter.increment()
        counter.destroy()
        #expect(registry.snapshot().first?.value == .counter(.max))
        Counter(label: "n", dimensions: [], factory: registry).reset()
        #expect(registry.snapshot().first?.value == .counter(0))
    }

    @Test func threadsCountTogether() {
        let registry = CounterRegistry()
        let workers = (0..<4).map { _ in
            WorkerThread.start(name: "test") {
                for _ in 0..<1000 { Counter(label: "n", dimensions: [], factory: registry).increment() }
            }
        }
        for worker in workers { worker.join() }
        #expect(registry.snapshot().map(\.value) == [.counter(4000)])
    }
}
