import FanfareMetrics
import Testing

@testable import DaemonKit
@testable import FanfareStages
@testable import FanfareStore

/// The gauges of several senders of one target are added.
struct TransportGaugesTests {
    private let registry = MetricsRegistry()
    private let target = Target(id: 3, app: "shop", provider: "apns", environment: "production")

    private func told() -> [String: Int64] {
        var told: [String: Int64] = [:]
        for name in ["fanfare_connections", "fanfare_requests_in_flight"] {
            for series in registry.family(name)?.series ?? [] {
                let state = series.labels.first { $0.name == "state" }?.value ?? "in flight"
                #expect(series.labels.map(\.value).contains("shop"))
                if case .number(let value) = series.value { told[state] = Int64(value) }
            }
        }
        return told
    }

    @Test func theirPartsAreAddedAndTakenBack() {
        var first = TransportGauges(of: target, registry)
        var second = TransportGauges(of: target, registry)
        #expect(told() == ["open": 0, "opening": 0, "draining": 0, "in flight": 0])
        first.tell([2, 1, 0, 900])
        second.tell([1, 0, 1, 100])
        #expect(told() == ["open": 3, "opening": 1, "draining": 1, "in flight": 1000])
        first.tell([1, 0, 0, 5])
        #expect(told() == ["open": 2, "opening": 0, "draining": 1, "in flight": 105])
        second.withdraw()
        second.withdraw()
        #expect(told() == ["open": 1, "opening": 0, "draining": 0, "in flight": 5])
        first.withdraw()
        #expect(told().values.allSatisfy { $0 == 0 })
    }

    @Test func aTransportIsAskedFourTimesASecond() {
        var gauges = TransportGauges(of: target, registry)
        #expect(gauges.isDue(at: 5) && !gauges.isDue(at: 250_004) && gauges.isDue(at: 250_005))
    }
}
