import CoreMetrics
import FanfareCore
import FanfareMetrics
import Logging
import PostgresClient
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The state that a daemon reports for `fanfare status`.
struct DaemonStateTests {
    private struct Reporter {
        let figures: Figures
        let context = StageContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            settings: StageSettings(),
            database: DatabaseSessions(base: PostgresOptions(url: "postgres:///none"))
        )

        init(_ metrics: any MetricsFactory) { figures = Figures(PipelineCounters(metrics)) }

        var report: String { context.status.report(context, figures, PruneFuses()) }
    }

    private func work(_ daemon: Reporter) {
        let (counters, status) = (daemon.figures.counters, daemon.context.status)
        counters.ended([6: 1, 1: 3, 77: 2])
        counters.ended([1: 4])
        counters.ended([:])
        counters.closed(5)
        for environment in ["production", "sandbox"] {
            let target = Target(id: 1, app: "shop", provider: "apns", environment: environment)
            counters.requests(to: target).increment(by: 8)
        }
        let refusals = ["": "Forbidden", "com.example": "TopicDisallowed"]
        status.breaker("shop/apns/production", BreakerReport(isOpen: true, refusals: refusals))
        let failures = ["": "Connection refused"]
        status.breaker("fail/apns/production", BreakerReport(isOpen: true, failures: failures))
        status.unserved(["shpo/apns"])
        status.listening(true)
    }

    private static let worked = """
        {"listening":true,"roles":["maintenance"],"requests":16,"batches_closed":5,"devices_pruned":0,\
        "events":{"planned":7,"refused":1,"77":2},"breakers":{"fail/apns/production":"open","shop/apns/production":"open"},\
        "refusals":{"shop/apns/production":"Forbidden","shop/apns/production com.example":"TopicDisallowed"},\
        "failures":{"fail/apns/production":"Connection refused"},"unserved":["shpo/apns"],"fuses_blown":[]}
        """

    @Test func aDaemonThatHasDoneNothingSaysSo() {
        let daemon = Reporter(MetricsRegistry())
        let idle = """
            {"listening":false,"roles":["maintenance"],"requests":0,"batches_closed":0,"devices_pruned":0,"events":{},"breakers":{},\
            "refusals":{},"failures":{},"unserved":[],"fuses_blown":[]}
            """
        #expect(daemon.report == idle)
    }

    @Test func whenListenWasProvedStaysKnown() throws {
        let status = Reporter(MetricsRegistry()).context.status
        status.listening(false)
        #expect(status.listenProvedAt == nil)
        let before = Double(Clocks.wall) / 1e6
        status.listening(true)
        let proved = try #require(status.listenProvedAt)
        #expect(proved >= before)
        status.listening(false)
        #expect(status.listenProvedAt == proved && !status.isListening)
    }

    @Test func countsAreThoseOfTheRegistry() throws {
        let registry = MetricsRegistry(describing: Daemon.metrics)
        let (daemon, other) = (Reporter(registry), Reporter(MetricsRegistry()))
        work(daemon)
        #expect(daemon.report == Self.worked)
        #expect(other.figures.counters.snapshot.requests == 0, "daemons of one process need not count together")
        let events = try #require(registry.counter("fanfare.events"))
        #expect(events.name == "fanfare_events_total" && events.help.hasPrefix("Events that this daemon took"))
        let fates = events.series.map { "\($0.labels.map(\.value).joined()) \($0.value)" }
        #expect(fates.contains("planned whole(7)") && fates.contains("cancelled whole(0)"), "\(fates)")
        #expect(registry.snapshot.refused.isEmpty)
    }

    /// For example a backend that pushes its metrics.
    @Test func aBackendThatCannotBeReadIsServedAsWell() {
        let behind = MetricsRegistry()
        let daemon = Reporter(MultiplexMetricsHandler(factories: [behind]))
        work(daemon)
        #expect(daemon.report == Self.worked)
        #expect(behind.counter("fanfare.requests")?.sum() == 16)
    }

    @Test func whatAnAuditFoundGoesWithTheLead() {
        let registry = MetricsRegistry()
        let (first, second) = (Reporter(registry), Reporter(registry))
        first.figures.audit.found(AuditFigure(found: 3, oldest: nil), by: "unplanned_events")
        first.figures.audit.found(AuditFigure(found: 0, oldest: nil), by: "overdue_batches")
        first.figures.audit.found(AuditFigure(found: 2, oldest: nil), by: "unplanned_events")
        #expect(registry.family("fanfare_audit_findings")?.series.map(\.value) == [.number(0), .number(2)])
        #expect(first.report.contains(#""audit":{"overdue_batches":{"found":0},"unplanned_events":"#))
        second.figures.audit.found(AuditFigure(found: 4, oldest: nil), by: "unplanned_events")
        first.figures.audit.clear()
        #expect(first.figures.audit.figures.isEmpty && !first.report.contains("audit"))
        #expect(registry.family("fanfare_audit_findings")?.series.map(\.value) == [.number(4)])
        second.figures.audit.clear()
        #expect(registry.family("fanfare_audit_findings") == nil)
    }
}
