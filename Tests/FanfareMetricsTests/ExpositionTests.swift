import CoreMetrics
import Testing

@testable import FanfareMetrics

struct ExpositionTests {
    private let registry = MetricsRegistry(describing: [
        MetricDescription("requests", help: "What\nwas \"asked\"."),
        MetricDescription("wait", help: "How long.", bounds: [0.5, 1]),
    ])

    init() {
        Counter(label: "requests", dimensions: [("path", "a\"b\\c\nd")], factory: registry).increment(by: 3)
        let timer = CoreMetrics.Timer(label: "wait", dimensions: [], factory: registry)
        timer.recordNanoseconds(250_000_000)
        timer.recordNanoseconds(2_000_000_000)
    }

    @Test func prometheusReadsIt() {
        #expect(
            Exposition.prometheus.text(registry.snapshot.families) == """
                # HELP requests_total What\\nwas "asked".
                # TYPE requests_total counter
                requests_total{path="a\\"b\\\\c\\nd"} 3
                # HELP wait_seconds How long.
                # TYPE wait_seconds histogram
                wait_seconds_bucket{le="0.5"} 1
                wait_seconds_bucket{le="1"} 1
                wait_seconds_bucket{le="+Inf"} 2
                wait_seconds_sum 2.25
                wait_seconds_count 2

                """
        )
    }

    @Test func openMetricsHasTheLastExemplarOfEachBucket() {
        let series = registry.durations("wait", [])
        var apart = HistogramTally(bounds: [0.5, 1])
        for (event, seconds) in [(1, 0.5), (2, 0.75), (3, 0.875)] {
            apart.observe(seconds, exemplar: Exemplar("event_id", Int64(event), value: seconds, at: 1.5e9))
        }
        series.add(apart)
        let trace = String(repeating: "a1", count: 16)
        series.observe(9, exemplar: Exemplar("event_id", 4, traceID: trace, value: 9, at: 1_700_000_000.25))
        series.observe(10)
        let text = Exposition.openMetrics.text(registry.snapshot.families)
        #expect(
            text.hasSuffix(
                """
                wait_seconds_bucket{le="0.5"} 2 # {event_id="1"} 0.5 1500000000
                wait_seconds_bucket{le="1"} 4 # {event_id="3"} 0.875 1500000000
                wait_seconds_bucket{le="+Inf"} 7 # {event_id="4",trace_id="\(trace)"} 9 1700000000.25
                wait_seconds_sum 23.375
                wait_seconds_count 7
                # EOF

                """
            )
        )
        #expect(!Exposition.prometheus.text(registry.snapshot.families).contains(" # {"))
    }

    @Test func openMetricsNamesCountersWithoutTheirSuffix() {
        let text = Exposition.openMetrics.text(registry.snapshot.families)
        #expect(text.contains("# TYPE requests counter\nrequests_total{"))
        #expect(text.hasSuffix("\n# EOF\n"))
    }
}
