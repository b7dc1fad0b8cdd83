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

    @Test func openMetricsNamesCountersWithoutTheirSuffix() {
        let text = Exposition.openMetrics.text(registry.snapshot.families)
        #expect(text.contains("# TYPE requests counter\nrequests_total{"))
        #expect(text.hasSuffix("\n# EOF\n"))
    }
}
