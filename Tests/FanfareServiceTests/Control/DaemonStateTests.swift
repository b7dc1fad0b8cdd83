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
    private func context(_ metrics: any MetricsFactory) -> StageContext {
        StageContext(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            settings: StageSettings(),
            database: DatabaseSessions(base: PostgresOptions(url: "postgres:///none")),
            counters: PipelineCounters(metrics)
        )
    }

    private func work(_ context: StageContext) {
        context.counters.ended([6: 1, 1: 3, 77: 2])
        context.counters.ended([1: 4])
        context.counters.ended([:])
        context.counters.closed(5)
        for environment in ["production", "sandbox"] {
            let target = Target(id: 1, app: "shop", provider: "apns", environment: environment)
            context.counters.requests(to: target).increment(by: 8)
        }
        let refusals = ["": "Forbidden", "com.example": "TopicDisallowed"]
        context.status.breaker("shop/apns/production", BreakerReport(isOpen: true, refusals: refusals))
        let failures = ["": "Connection refused"]
        context.status.breaker("fail/apns/production", BreakerReport(isOpen: true, failures: failures))
        context.status.unserved(["shpo/apns"])
        context.status.listening(true)
    }

    private static let worked = """
        {"listening":true,"roles":["maintenance"],"requests":16,"batches_closed":5,"devices_pruned":0,\
        "events":{"planned":7,"refused":1,"77":2},"breakers":{"fail/apns/production":"open","shop/apns/production":"open"},\
        "refusals":{"shop/apns/production":"Forbidden","shop/apns/production com.example":"TopicDisallowed"},\
        "failures":{"fail/apns/production":"Connection refused"},"unserved":["shpo/apns"],"fuses_blown":[]}
        """

    @Test func aDaemonThatHasDoneNothingSaysSo() {
        let context = context(MetricsRegistry())
        let idle = """
            {"listening":false,"roles":["maintenance"],"requests":0,"batches_closed":0,"devices_pruned":0,"events":{},"breakers":{},\
            "refusals":{},"failures":{},"unserved":[],"fuses_blown":[]}
            """
        #expect(context.status.report(context) == idle)
    }

    @Test func whenListenWasProvedStaysKnown() throws {
        let status = context(MetricsRegistry()).status
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
        let (context, other) = (context(registry), context(MetricsRegistry()))
        work(context)
        #expect(context.status.report(context) == Self.worked)
        #expect(other.counters.snapshot.requests == 0, "daemons of one process need not count together")
        let events = try #require(registry.counter("fanfare.events"))
        #expect(events.name == "fanfare_events_total" && events.help.hasPrefix("Events that this daemon took"))
        let fates = events.series.map { "\($0.labels.map(\.value).joined()) \($0.value)" }
        #expect(fates.contains("planned whole(7)") && fates.contains("cancelled whole(0)"), "\(fates)")
        #expect(registry.snapshot.refused.isEmpty)
    }

    /// For example a backend that pushes its metrics.
    @Test func aBackendThatCannotBeReadIsServedAsWell() {
        let behind = MetricsRegistry()
        let context = context(MultiplexMetricsHandler(factories: [behind]))
        work(context)
        #expect(context.status.report(context) == Self.worked)
        #expect(behind.counter("fanfare.requests")?.sum() == 16)
    }

    @Test func whatAnAuditFoundGoesWithTheLead() {
        let registry = MetricsRegistry()
        let (first, second) = (context(registry), context(registry))
        first.audit.found(AuditFigure(found: 3, oldest: nil), by: "unplanned_events")
        first.audit.found(AuditFigure(found: 0, oldest: nil), by: "overdue_batches")
        first.audit.found(AuditFigure(found: 2, oldest: nil), by: "unplanned_events")
        #expect(registry.family("fanfare_audit_findings")?.series.map(\.value) == [.number(0), .number(2)])
        #expect(first.status.report(first).contains(#""audit":{"overdue_batches":{"found":0},"unplanned_events":"#))
        second.audit.found(AuditFigure(found: 4, oldest: nil), by: "unplanned_events")
        first.audit.clear()
        #expect(first.audit.figures.isEmpty && !first.status.report(first).contains("audit"))
        #expect(registry.family("fanfare_audit_findings")?.series.map(\.value) == [.number(4)])
        second.audit.clear()
        #expect(registry.family("fanfare_audit_findings") == nil)
    }
}
