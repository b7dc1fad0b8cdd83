import CoreMetrics
import Testing

@testable import FanfareMetrics

/// The identity of series: same, different, invalid.
struct MetricsRegistryTests {
    private let registry = MetricsRegistry(describing: [
        MetricDescription("fanfare.events", help: "Events by their fate."),
        MetricDescription("fanfare.delivery", help: "From commit to answer.", bounds: [0.5, 1]),
    ])

    private func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
        Counter(label: label, dimensions: dimensions, factory: registry)
    }

    private var names: [String] { registry.snapshot.families.map(\.name) }

    @Test func aCounterIsShownAsPrometheusCallsIt() throws {
        counter("fanfare.events", [("fate", "planned")]).increment(by: 3)
        let family = try #require(registry.family("fanfare_events_total"))
        #expect(family.label == "fanfare.events" && family.kind == .counter && family.help == "Events by their fate.")
        #expect(family.series == [MetricSeries(labels: [MetricLabel("fate", "planned")], value: .whole(3))])
        #expect(registry.snapshot.families == [family])
        #expect(registry.family("fanfare.events") == nil)
    }

    @Test(arguments: [
        ("fanfare.events", "fanfare_events_total"), ("already_total", "already_total"), ("a b/c-d", "a_b_c_d_total"),
        ("9lives", "_9lives_total"), ("", "__total"), ("größe", "gr__e_total"),
    ]) func namesAreMadeFit(label: String, name: String) {
        counter(label).increment()
        #expect(names == [name])
    }

    @Test func onlyTimersSayTheirUnit() {
        Timer(label: "a", factory: registry).recordSeconds(1)
        Timer(label: "b.seconds", factory: registry).recordSeconds(1)
        Recorder(label: "c", factory: registry).record(1)
        Gauge(label: "d", factory: registry).record(1)
        #expect(names == ["a_seconds", "b_seconds", "c", "d"])
    }

    @Test func labelsInAnyOrderAreOneSeries() throws {
        counter("pushes", [("app", "shop"), ("provider", "apns")]).increment(by: 1)
        counter("pushes", [("provider", "apns"), ("app", "shop")]).increment(by: 2)
        counter("pushes", [("app", "shop"), ("provider", "fcm")]).increment(by: 4)
        counter("pushes", [("app", "news"), ("provider", "x"), ("provider", "apns")]).increment(by: 8)
        let family = try #require(registry.family("pushes_total"))
        let labels = family.series.map { $0.labels.map(\.value).joined(separator: " ") }
        #expect(labels == ["news apns", "shop apns", "shop fcm"])
        #expect(family.series.map(\.value) == [.whole(8), .whole(3), .whole(4)])
        #expect(family.sum() == 15 && family.sum(where: MetricLabel("app", "shop")) == 7)
        #expect(family.sum(where: MetricLabel("app", "none")) == 0)
    }

    @Test func oneNameHasOneKind() {
        Gauge(label: "depth", factory: registry).record(5)
        let other = Recorder(label: "depth", factory: registry)
        other.record(7)
        other.destroy()
        #expect(registry.family("depth")?.kind == .gauge)
        #expect(registry.family("depth")?.series.map(\.value) == [.number(5)])
        #expect(registry.snapshot.refused == ["depth"])
        // The name has another suffix, so it is another metric.
        counter("depth").increment()
        #expect(names == ["depth", "depth_total"])
    }

    @Test func aMeterIsTheGaugeOfItsName() throws {
        let meter = Meter(label: "in.flight", factory: registry)
        Gauge(label: "in.flight", factory: registry).record(10)
        meter.increment(by: 2.5)
        meter.decrement(by: 4)
        for illegal in [-1, 0, Double.nan, .infinity] {
            meter.increment(by: illegal)
            meter.decrement(by: illegal)
        }
        #expect(try #require(registry.family("in_flight")).series.map(\.value) == [.number(8.5)])
        meter.set(3)
        #expect(registry.family("in_flight")?.sum() == 3)
    }

    @Test func twoThatCountTheSameShareItUntilBothAreDestroyed() {
        let (first, second) = (counter("a", [("b", "c")]), counter("a", [("b", "c")]))
        first.increment()
        first.destroy()
        second.increment()
        #expect(registry.family("a_total")?.sum() == 2)
        second.destroy()
        #expect(registry.snapshot == MetricsRegistry().snapshot)
        // It can still be used without harm, and a new counter starts at zero.
        second.increment()
        let third = counter("a", [("b", "c")])
        second.destroy()
        third.increment(by: 5)
        #expect(registry.family("a_total")?.sum() == 5)
    }

    @Test func eachKindCanBeDestroyed() {
        let (fractions, gauge, meter) = (
            FloatingPointCounter(label: "a", factory: registry), Gauge(label: "b", factory: registry),
            Meter(label: "c", factory: registry)
        )
        let (recorder, timer) = (Recorder(label: "d", factory: registry), Timer(label: "e", factory: registry))
        #expect(names == ["a_total", "b", "c", "d", "e_seconds"])
        fractions.destroy()
        gauge.destroy()
        meter.destroy()
        recorder.destroy()
        timer.destroy()
        #expect(names == [])
        registry.destroyCounter(NOOPMetricsHandler.instance)
    }

    @Test func registriesShareNothing() {
        counter("a").increment()
        #expect(MetricsRegistry().family("a_total") == nil)
    }

    @Test(.timeLimit(.minutes(1))) func countsOfManyThreadsAreAllThere() async {
        await withTaskGroup { tasks in
            for task in 0..<8 {
                tasks.addTask { [registry] in
                    for turn in 0..<10_000 {
                        // Looked up every time; the first task to need it creates it.
                        let dimensions = [("task", "\(task % 2)"), ("turn", "\(turn % 3)")]
                        Counter(label: "whole", dimensions: dimensions, factory: registry).increment(by: 2)
                        FloatingPointCounter(label: "half", factory: registry).increment(by: 0.5)
                        Recorder(label: "size", factory: registry).record(turn)
                    }
                }
            }
        }
        #expect(registry.family("whole_total")?.sum() == 160_000)
        #expect(registry.family("whole_total")?.series.count == 6)
        #expect(registry.family("half_total")?.sum() == 40_000)
        guard case .histogram(let sizes)? = registry.family("size")?.series.first?.value else {
            Issue.record("no histogram")
            return
        }
        #expect(sizes.count == 80_000 && sizes.sum == 8 * 49_995_000)
    }
}
