import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Batches behind a gate, from planning to closing.
@Suite(.database)
struct GateQueueTests {
    let world: World

    init() throws {
        world = try World(settings: StageSettings(batchSize: 10))
        try world.devices(25, user: "u")
        try world.rule("gated", event: "e", to: #"{"users": "$.u"}"#, #""lane": "bulk""#)
        try world.rule("free", event: "f", to: #"{"users": "$.u"}"#, #""lane": "bulk""#)
    }

    private func emitBoth() throws -> (gated: Int64, free: Int64) {
        let events = try (world.emit("e", #"{"u": "u"}"#), world.emit("f", #"{"u": "u"}"#))
        try world.plan()
        return events
    }

    private func waiting(_ what: String = "count(*)", where condition: String = "true") throws -> Int64 {
        try world.connection.number("SELECT \(what) FROM fanfare.batches WHERE \(condition)")
    }

    @Test func whatIsPausedStaysAndWhatIsResumedGoesOn() throws {
        let gate = try world.gate("gated", run: 1, lane: 2)
        let events = try emitBoth()
        #expect(try waiting(where: "gate_id = \(gate)") == 3)
        #expect(try waiting(where: "gate_id = 0") == 3)
        #expect(try world.setGates("gated", "pause", why: "wait") && world.setGates("gated", "pause") == false)
        #expect(try world.state(gate) == "open, paused")
        #expect(
            try Set(world.claim(gates: [gate]).map(\.eventID)) == [events.free],
            "the statement looks, not its caller"
        )
        #expect(try world.setGates("gated", "resume") && world.setGates("gated", "resume") == false)
        let claimed = try world.claim(gates: [gate])
        #expect(claimed.count == 3 && claimed.allSatisfy { $0.gate == gate && $0.eventID == events.gated })
        #expect(try world.recipients(events.gated).count == 25)
    }

    @Test func whatIsHeldWaitsToBeOpened() throws {
        let gate = try world.gate("gated", run: 1, lane: 2, state: "held")
        _ = try emitBoth()
        #expect(try world.claim(gates: [gate]).count == 3)
        for change in ["pause", "resume"] { #expect(try world.setGates("gated", change)) }
        #expect(try world.state(gate) == "held", "who resumes undoes the pause")
        #expect(try world.claim(gates: [gate]).isEmpty)
        try world.connection.execute("UPDATE fanfare.gates SET state = 'open'")
        #expect(try world.claim(gates: [gate]).count == 3)
    }

    @Test func theCheapClaimSeesNoGate() throws {
        let gate = try world.gate("gated")
        _ = try emitBoth()
        let requests = try world.requests(gates: [])
        #expect(
            try world.connection.run(ClaimBatches(requests: requests, owner: 1, leaseToken: 1)).map(\.gate) == [
                0, 0, 0,
            ]
        )
        #expect(try waiting(where: "owner IS NULL AND gate_id = \(gate)") == 3)
    }

    /// Each campaign keeps its gate, so a hundred gates without batches would be queried all the time.
    @Test func nobodyLooksBehindARulesGateThatNothingWaitsBehind() throws {
        let gate = try world.gate("gated")
        let run = try world.gate("gated", run: 1)
        let orders = Orders()
        #expect(try orders.replace(gates: world.connection.run(LiveGates())))
        #expect(orders.current.gates.open.map(\.id) == [run])
        #expect(!orders.current.gates.isClosed(gate), "what is being sent is not given back")
        try world.connection.execute("UPDATE fanfare.rule_versions SET gate_id = \(gate) WHERE gate_id > 0")
        _ = try emitBoth()
        #expect(try orders.replace(gates: world.connection.run(LiveGates())))
        #expect(orders.current.gates.open.map(\.id) == [gate, run])
    }

    /// All gates of a queue share its room: the batch that is due first takes it.
    @Test func aQueueGivesNoMoreThanThereIsRoomFor() throws {
        let gate = try world.gate("gated")
        let events = try emitBoth()
        try world.connection.execute(
            "UPDATE fanfare.batches SET not_before = now() - interval '1 h' WHERE gate_id <> 0"
        )
        let first = try world.claim(gates: [gate], count: 4)
        #expect(first.count == 4 && first.count { $0.eventID == events.gated } == 3)
        #expect(try world.claim(gates: [gate], count: 4).count == 2)
    }

    @Test func allBehindAGateWaitsInItsLane() throws {
        let gate = try world.gate("gated", run: 1, lane: 2)
        try world.rule("gated", event: "e", to: #"{"users": "$.u"}"#, #""lane": "normal""#)
        try world.connection.execute("UPDATE fanfare.rule_versions SET gate_id = \(gate) WHERE event_type = 'e'")
        _ = try emitBoth()
        #expect(try waiting("min(lane) * 10 + max(lane)", where: "gate_id = \(gate)") == 22)
        try world.connection.execute("DELETE FROM fanfare.batches; UPDATE fanfare.gates SET lane = NULL")
        _ = try emitBoth()
        #expect(try waiting("min(lane) * 10 + max(lane)", where: "gate_id = \(gate)") == 11)
    }

    @Test func retriesAndRescuedBatchesStayBehindTheirGate() throws {
        let gate = try world.gate("gated")
        _ = try emitBoth()
        try world.connection.execute("UPDATE fanfare.batches SET due_at = '2026-01-01 08:00+00' WHERE gate_id <> 0")
        let claimed = try world.claim(gates: [gate]).filter { $0.gate == gate }
        let due = try #require(claimed.first?.dueAt)
        #expect(claimed.allSatisfy { $0.dueAt == due })
        _ = try world.connection.run(Rescue(dead: 1))
        #expect(try waiting(where: "owner IS NULL AND gate_id = \(gate) AND due_at IS NOT NULL") == 3)
        let again = try world.claim(gates: [gate], leaseToken: 2).filter { $0.gate == gate }
        _ = try world.connection.runReturningCount(ReleaseClaims(claims: [DoubtfulClaim(owner: 1, leaseToken: 2)]))
        #expect(
            try again.count == 3 && waiting(where: "owner IS NULL AND gate_id = \(gate) AND due_at IS NOT NULL") == 3
        )
        let batch = try #require(try world.claim(gates: [gate], leaseToken: 3).first { $0.gate == gate })
        try close(batch, retrying: 4)
        let child = "parent_id = \(batch.id) AND gate_id = \(gate) AND due_at = '2026-01-01 08:00+00' AND is_retry"
        #expect(try waiting("sum(cardinality(device_ids))", where: child) == 4)
        _ = try world.setGates("gated", "pause")
        #expect(try world.claim(gates: [gate], leaseToken: 4).isEmpty)
        _ = try world.setGates("gated", "resume")
        let retry = try world.claim(gates: [gate], leaseToken: 5)
        #expect(retry.map(\.queue) == [SendQueue(lane: .bulk, isRetry: true)] && retry.map(\.dueAt) == [due])
    }

    /// Records some of a batch's deliveries as retries, the rest as accepted.
    private func close(_ batch: ClaimedBatch, retrying: Int) throws {
        let count = batch.deviceIDs.count
        let outcomes = (0..<count).map { $0 < retrying ? Outcome.retryingServerError : .accepted }.map(\.rawValue)
        let statement = CloseBatches(
            owner: 1,
            batches: [BatchRecord(id: batch.id, leaseToken: batch.leaseToken, outcomes: outcomes)],
            retries: [
                RetryBatch(
                    parentID: batch.id,
                    target: batch.target,
                    history: RetryHistory(attempts: 1),
                    delayMicroseconds: 0,
                    deviceIDs: Array(batch.deviceIDs.prefix(retrying)),
                    eventIDs: nil
                )
            ],
            tallies: [
                OutcomeTally(
                    batchID: batch.id,
                    outcome: Outcome.retryingServerError.rawValue,
                    deliveries: Int64(retrying)
                ),
                OutcomeTally(
                    batchID: batch.id,
                    outcome: Outcome.accepted.rawValue,
                    deliveries: Int64(count - retrying)
                ),
            ]
        )
        #expect(try connection(closing: statement) == [batch.id])
    }

    private func connection(closing statement: CloseBatches) throws -> [Int64] {
        try world.connection.run(statement).batches.sorted()
    }

    @Test func whatWasSentIsCountedByGate() throws {
        let gate = try world.gate("gated")
        _ = try emitBoth()
        for batch in try world.claim(gates: [gate]) { try close(batch, retrying: 1) }
        let pending = "SELECT sum(deliveries) FROM fanfare.stats_pending WHERE gate_id = \(gate) AND outcome = $1"
        #expect(try world.connection.number(pending, "\(Outcome.accepted.rawValue)") == 22)
        for round in 1...2 {
            try world.connection.execute("UPDATE fanfare.stats_pending SET at = at - interval '12 minutes'")
            _ = try world.connection.runReturningCount(SQL.foldStats())
            let folded =
                "SELECT gate_id || ' ' || outcome || ' ' || deliveries FROM fanfare.gate_stats ORDER BY outcome"
            let accepted = "\(gate) \(Outcome.accepted.rawValue) \(22 * round)"
            let retried = "\(gate) \(Outcome.retryingServerError.rawValue) 3"
            #expect(try world.connection.column(folded) == [accepted, retried], "round \(round)")
            try world.connection.execute(
                """
                INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries, gate_id)
                SELECT rule_version, target_id, outcome, 22, \(gate) FROM fanfare.stats WHERE outcome = 1 LIMIT 1
                """
            )
        }
        let all = "SELECT sum(deliveries) FROM fanfare.stats WHERE outcome = \(Outcome.accepted.rawValue)"
        #expect(try world.connection.number(all) == 22 * 3)
    }

    @Test func aLoneEventBehindAGateIsTheClaimers() throws {
        try world.devices(1, user: "lone")
        let gate = try world.gate("gated", run: 1, lane: 1)
        let places = try world.connection.run(SQL.allTargets()).map { LoneClaim.Place(target: $0.id, lane: .normal) }
        func plan(_ type: String) throws -> Int {
            try world.emit(type, #"{"u": "lone"}"#)
            let claim = LoneClaim(owner: 5, leaseToken: 6, places: places, beganAt: 0)
            let round = PlanRound(floor: OutboxFloor(), limit: 10, batchSize: 10, claim: claim)
            return try PlanRoundSummary(world.connection.run(round)).lone.count
        }
        try world.rule("free", event: "f", to: #"{"users": "$.u"}"#, #""lane": "normal""#)
        #expect(try plan("f") == 1)
        #expect(try plan("e") == 0)
        #expect(try waiting(where: "owner IS NULL AND lane = 1 AND gate_id = \(gate)") == 1)
    }

    @Test func theQueueShowsWhatGatesHold() throws {
        let gate = try world.gate("gated")
        _ = try emitBoth()
        let look = "SELECT coalesce(gate, '-') || ' ' || ready || ' ' || waiting FROM fanfare.queue ORDER BY 1"
        #expect(try world.connection.column(look) == ["- 25 0", "open 25 0"])
        _ = try world.setGates("gated", "pause")
        #expect(try world.connection.column(look) == ["- 25 0", "paused 0 25"])
        _ = try world.setGates("gated", "abort")
        #expect(try world.connection.column(look) == ["- 25 0", "aborting 0 25"])
        #expect(try world.connection.run(SQL.listQueues()).map { [$0.ready, $0.waiting] } == [[25, 25]])
        #expect(try world.state(gate) == "aborting")
    }

    /// Two indexes match, and the planner has no statistics to choose between them.
    @Test(arguments: [0, 3000]) func looksGoAlongTheIndexThatKnowsGates(batches: Int) throws {
        try world.connection.execute(
            """
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids)
            SELECT 1, 1, 1, 2, '{1}' FROM generate_series(1, \(batches));
            """
        )
        try world.connection.execute("VACUUM ANALYZE fanfare.batches")
        for text in try [
            plan(ClaimBatches.sql), plan(ClaimGated.sql), plan(ClaimPaced.sql), plan(NextDue.sql),
            plan(NextPaced.sql), plan(SQL.areManyWaiting.sql),
            plan(SQL.standingBatches.sql), plan(SweepGate.sql),
        ] {
            #expect(text.contains("batches_gate") && !text.contains("batches_due"), "\(text)")
        }
    }

    /// Returns the plan in a session of the queues, with its output columns.
    private func plan(_ sql: String) throws -> String {
        let count = (1...10).last { sql.contains("$\($0)") } ?? 0
        try world.connection.execute("PREPARE look AS \(sql)")
        let nulls = Array(repeating: "NULL", count: count).joined(separator: ", ")
        defer { try? world.connection.execute("DEALLOCATE look") }
        let look = "EXPLAIN (VERBOSE) EXECUTE look\(count > 0 ? "(\(nulls))" : "")"
        return try world.connection.column(look).joined(separator: "\n")
    }

    /// If the table was empty at its last VACUUM, PostgreSQL considers a full scan cheap, even after many inserts.
    @Test func whatManyGatesHaveIsLookedUpNotReadWhole() throws {
        try world.connection.execute(
            """
            INSERT INTO fanfare.rules (app_id, name) SELECT a.id, 'r' || g FROM fanfare.apps AS a, generate_series(1, 200) AS g;
            INSERT INTO fanfare.gates (rule_id) SELECT id FROM fanfare.rules;
            ANALYZE fanfare.rules, fanfare.gates;
            UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE oid = 'fanfare.batches'::regclass;
            """
        )
        for text in try [plan(LiveGates.sql), plan(SQL.finishGates.sql), plan(SQL.finishRuns.sql)] {
            #expect(text.contains("batches_gate") && !text.contains("hashed SubPlan"), "\(text)")
        }
    }
}
