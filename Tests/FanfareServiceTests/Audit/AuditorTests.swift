import FanfareCore
import FanfareMetrics
import Logging
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The audit against a database with deliberate inconsistencies.
@Suite(.databaseWithRing)
struct AuditorTests {
    private static let interval = Auditor.interval
    private let world: World

    init() throws {
        world = try World()
    }

    private func finding(_ check: AuditCheck, _ auditor: inout Auditor, at now: Microseconds) throws -> AuditFinding? {
        try auditor.check(on: world.connection, at: now).first { $0.check == check }
    }

    /// Emits an event dated some minutes ago.
    private func emitEarlier(_ type: String) throws -> Int64 {
        try world.connection.number(
            """
            INSERT INTO fanfare.outbox (type, payload, created_at)
            VALUES ($1, '{"u": "u"}', clock_timestamp() - interval '5 minutes') RETURNING id
            """,
            type
        )
    }

    /// Emits and plans an event for a user's devices, as batches of one delivery.
    private func plan(devices count: Int) throws -> Int64 {
        for n in 0..<count { try world.device("aa\(10 + n)", user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        return event
    }

    private func makeDue(secondsAgo: Int) throws {
        try world.connection.execute(
            "UPDATE fanfare.batches SET not_before = clock_timestamp() - interval '\(secondsAgo) seconds'"
        )
    }

    @Test func eventsThatNobodyTakesAreFoundAtTheSecondLook() throws {
        var auditor = world.auditor()
        let event = try emitEarlier("e")
        #expect(try finding(.unplannedEvents, &auditor, at: 0) == nil, "one look cannot tell")
        let found = try #require(try finding(.unplannedEvents, &auditor, at: Self.interval))
        #expect(found.count == 1 && found.detail == "no planner takes 1 event: \(event)" && found.oldest != nil)
        try world.plan()
        #expect(try finding(.unplannedEvents, &auditor, at: 2 * Self.interval)?.count == 0)
    }

    @Test func aBacklogThatMovesIsNone() throws {
        var auditor = world.auditor()
        _ = try emitEarlier("e")
        _ = try finding(.unplannedEvents, &auditor, at: 0)
        try world.plan()
        _ = try emitEarlier("e")
        #expect(try finding(.unplannedEvents, &auditor, at: Self.interval)?.count == 0)
    }

    @Test func whatIsDueAndNotClaimedIsOverdue() throws {
        var auditor = world.auditor()
        _ = try plan(devices: 1)
        _ = try finding(.overdueBatches, &auditor, at: 0)
        #expect(try finding(.overdueBatches, &auditor, at: Self.interval)?.count == 0, "it is due for no time")
        try makeDue(secondsAgo: 60)
        #expect(try finding(.overdueBatches, &auditor, at: 2 * Self.interval)?.count == 0)
        let found = try finding(.overdueBatches, &auditor, at: 3 * Self.interval)
        #expect(found?.count == 1)
        #expect(found?.detail.hasPrefix("due and not claimed: 1 batch: ") == true)
        _ = try world.claim()
        #expect(try finding(.overdueBatches, &auditor, at: 4 * Self.interval)?.count == 0)
    }

    @Test func batchesOfWhoIsGoneAreOverdue() throws {
        var auditor = world.auditor()
        _ = try plan(devices: 1)
        _ = try world.claim(owner: 77)
        _ = try finding(.overdueBatches, &auditor, at: 0)
        let found = try finding(.overdueBatches, &auditor, at: Self.interval)
        #expect(found?.detail.hasPrefix("of a daemon that is gone: 1 batch: ") == true)
    }

    @Test func batchesThatDoNotGoOnAreOverdue() throws {
        var auditor = world.auditor()
        _ = try plan(devices: 2)
        let owner = try world.connection.number(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ('d', 'h', 1, 'v', clock_timestamp() + interval '1 hour', 1) RETURNING id
            """
        )
        let batch = try #require(try world.claim(owner: Int32(owner)).first)
        let minutes = { (count: Int64) in count * Micros.minute }
        _ = try finding(.overdueBatches, &auditor, at: 0)
        #expect(try finding(.overdueBatches, &auditor, at: minutes(14))?.count == 0)
        let record = BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: [1, 0])
        _ = try world.connection.run(Checkpoint(owner: Int32(owner), batches: [record]))
        #expect(try finding(.overdueBatches, &auditor, at: minutes(16))?.count == 0, "an outcome was saved")
        let found = try finding(.overdueBatches, &auditor, at: minutes(31))
        #expect(found?.detail == "in flight and not going on: 1 batch: \(batch.id)")
    }

    @Test func plansThatStandStillAreFound() throws {
        var auditor = world.auditor()
        let rule = try world.rule("all", event: "all", to: #"{"everyone": true}"#)
        try world.device("aa10", user: "u")
        let event = try world.emit("other")
        try world.plan()
        let clauses = PlannedClause.json([PlannedClause(all: [], none: [])])
        let open = SQL.openPlan(event, Int32(rule), clauses)
        _ = try world.connection.runReturningCount(open)
        _ = try finding(.stalledPlans, &auditor, at: 0)
        let found = try finding(.stalledPlans, &auditor, at: 5 * Micros.minute)
        #expect(found?.detail == "audience expansion stalled for 1 event: \(event)")
        try world.slice()
        #expect(try finding(.stalledPlans, &auditor, at: 6 * Micros.minute)?.count == 0)
    }

    /// Closes an event's batch of three devices, with a retry for one of them.
    private func closeWithARetry() throws -> (event: Int64, batch: Int64) {
        let event = try plan(devices: 3)
        let batch = try #require(try world.prepare(try world.claim()).first).batch
        let again = FollowUp.again(
            at: world.context.lease.databaseNow,
            history: RetryHistory(attempts: 1, waits: 1),
            target: batch.target.id
        )
        world.record([
            .opened(batch, decided: []),
            .results(
                batch.claimed.claim,
                [
                    DeliveryResult(position: 0, outcome: .accepted, followUp: nil),
                    DeliveryResult(position: 1, outcome: .retryingServerError, followUp: again),
                    DeliveryResult(position: 2, outcome: try #require(APNsReason.badTopic.rejection), followUp: nil),
                ],
                slots: 0
            ),
        ])
        return (event, batch.claimed.id)
    }

    @Test func whatIsTriedAgainAddsUp() throws {
        var auditor = world.auditor()
        _ = try closeWithARetry()
        #expect(try finding(.unbalancedBatches, &auditor, at: 0)?.count == 0, "the retry waits")
        let retry = try #require(try world.prepare(try world.claim(leaseToken: 2)).first).batch
        world.record([
            .opened(retry, decided: []),
            .results(retry.claimed.claim, [DeliveryResult(position: 0, outcome: .accepted, followUp: nil)], slots: 0),
        ])
        var another = world.auditor()
        #expect(try finding(.unbalancedBatches, &another, at: 0)?.count == 0, "the retry is done")
    }

    @Test func aRetryThatIsNowhereIsFoundOnce() throws {
        var auditor = world.auditor()
        let (event, batch) = try closeWithARetry()
        try world.connection.execute("DELETE FROM fanfare.batches")
        let found = try finding(.unbalancedBatches, &auditor, at: 0)
        #expect(
            found?.detail
                == "batch \(batch) of event \(event) has 1 deliveries to try again, and 0 are in retry batches"
        )
        #expect(try finding(.unbalancedBatches, &auditor, at: 1)?.count == 0, "every closed batch is looked at once")
    }

    @Test func undecidedDeliveriesInTheLogAreFound() throws {
        var auditor = world.auditor()
        let (event, _) = try closeWithARetry()
        try world.connection.execute(
            "UPDATE fanfare.batch_log SET outcomes = '\\x010002'; DELETE FROM fanfare.batches"
        )
        let found = try finding(.unbalancedBatches, &auditor, at: 0)
        #expect(found?.count == 1)
        #expect(found?.detail.contains("of event \(event) was closed with 2 deliveries undecided") == true)
    }

    @Test func theLogIsNeverScanned() throws {
        _ = try world.connection.run(SQL.closedBatches(1, RowPlace(block: 0, row: 0).text))
        _ = try world.connection.run(SQL.retriedDeliveries([], []))
        let read = try world.connection.column("EXPLAIN EXECUTE closed_batches (1::smallint, '(3,0)')").joined()
        #expect(read.contains("Tid Range Scan") && !read.contains("Seq Scan"), "\(read)")
        let retried = try world.connection.column("EXPLAIN EXECUTE retried_deliveries ('{1}', '{1}')").joined()
        #expect(retried.contains("batches_parent") && !retried.contains("Seq Scan"), "\(retried)")
    }
}

/// The audit's messages for operators.
@Suite(.databaseWithRing)
struct AuditReportTests {
    private let lines = LineLog()

    private func context() -> StageContext {
        StageContext(
            logger: Logger(label: "test") { [lines] _ in lines },
            settings: StageSettings(),
            database: DatabaseSessions(base: PostgresOptions(url: TestDatabase.current.url))
        )
    }

    private static let health = """
        SELECT name || ' ' || ok || ' ' || detail FROM fanfare.health WHERE name ~ '^audit:' ORDER BY name
        """

    @Test func aChangeIsSaidOnceAndShown() throws {
        let (world, context, figures) = (try World(), context(), Figures(PipelineCounters()))
        var auditor = Auditor(figures.audit, logger: context.logger)
        let event = try world.connection.number(
            """
            INSERT INTO fanfare.outbox (type, payload, created_at)
            VALUES ('e', '{}', clock_timestamp() - interval '5 minutes') RETURNING id
            """
        )
        for look in Int64(0)...3 { try auditor.run(on: world.connection, at: look * Auditor.interval) }
        let said = "unplanned_events: no planner takes 1 event: \(event)"
        #expect(lines.all == ["warning: audit: problem found: \(said)"])
        #expect(
            try world.connection.column(Self.health) == [
                "audit: overdue_batches true none", "audit: unbalanced_batches true none",
                "audit: unplanned_events false no planner takes 1 event: \(event)",
            ]
        )
        #expect(figures.audit.figures["unplanned_events"]?.found == 1)
        let registry = try #require(figures.counters.metrics as? MetricsRegistry)
        let gauges = try #require(registry.family("fanfare_audit_findings"))
        #expect(gauges.sum(where: MetricLabel("check", "unplanned_events")) == 1 && gauges.series.count == 3)
        let report = try JSONValue(parsing: context.status.report(context, figures, PruneFuses()))
        #expect(report["audit"]?["unplanned_events"]?["found"] == 1)
        #expect((report["audit"]?["unplanned_events"]?["oldest_seconds"]?.text).flatMap { Int($0) } ?? 0 >= 299)
        try world.plan()
        for look in Int64(4)...5 { try auditor.run(on: world.connection, at: look * Auditor.interval) }
        #expect(lines.all.dropFirst() == ["notice: audit: recovered: unplanned_events: none"])
        #expect(try world.connection.column(Self.health).allSatisfy { $0.hasSuffix(" true none") })
    }

    @Test func whatCannotBeLookedAtAgainStandsForADay() throws {
        let world = try World()
        let odd = ClosedBatch(id: 1, eventID: 2, deliveries: 1, outcomes: [0], closedDay: 0)
        let bad = SQL.storeFinding(AuditFinding(unbalanced: [(odd, "is odd")]))
        let good = SQL.storeFinding(AuditFinding(unbalanced: []))
        #expect(try world.connection.run(good).map(\.found) == [0])
        let stored = try world.connection.run(bad)
        #expect(stored.map(\.found) == [1] && stored.map(\.before) == [0])
        #expect(try world.connection.run(good).isEmpty)
        let shown = "audit: unbalanced_batches false batch 1 of event 2 is odd"
        #expect(try world.connection.column(Self.health) == [shown])
        try world.connection.execute("UPDATE fanfare.audits SET checked_at = checked_at - interval '25 hours'")
        let later = try world.connection.run(good)
        #expect(later.map(\.found) == [0] && later.map(\.before) == [1])
    }
}

/// A log handler that keeps lines at notice and above, with their detail.
private final class LineLog: LogHandler, Sendable {
    private let lines = Locked<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .notice }
        set {}
    }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) {
        let detail = event.metadata?["detail"].map { ": \($0)" } ?? ""
        lines.withLock { $0.append("\(event.level): \(event.message)" + detail) }
    }
}
