import FanfareCore
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

/// The end of aborted deliveries, and the completion of a gate.
@Suite(.database)
struct GateAbortTests {
    let world: World

    init() throws {
        world = try World(settings: StageSettings(batchSize: 10))
        try world.devices(35, user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, #""lane": "bulk""#)
    }

    private func emit() throws -> Int64 {
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        return event
    }

    private func left() throws -> Int64 {
        try world.connection.number("SELECT count(*) FROM fanfare.batches")
    }

    @Test func everyRecipientHasAnOutcome() throws {
        let gate = try world.gate("r", lane: 2)
        let event = try emit()
        // One is being sent, one was partly sent and released, two were not started.
        let claimed = try world.claim(gates: [gate], count: 2)
        #expect(claimed.count == 2)
        let outcomes: [Outcome] = [.accepted, .attempted, .retryingServerError, .pending, .disabled]
        let begun = BatchRecord(
            id: claimed[1].id,
            leaseToken: 1,
            outcomes: (outcomes + Array(repeating: .pending, count: 5)).map(\.rawValue)
        )
        _ = try world.connection.run(ReleaseBatches(owner: 1, batches: [begun]))
        #expect(try world.sweep(gate).isEmpty, "nobody aborted it")
        #expect(try left() == 4)
        #expect(try world.setGates("r", "abort") && world.setGates("r", "abort") == false)
        for what in ["pause", "resume"] { #expect(try world.setGates("r", what) == false, "nothing undoes it") }
        #expect(try world.sweep(gate).isEmpty, "one is still being sent")
        #expect(try left() == 1)
        _ = try world.connection.run(Rescue(dead: 1))
        #expect(try world.claim(gates: [gate]).isEmpty)
        #expect(try world.sweep(gate) == [gate])
        #expect(try world.state(gate) == "open", "the rule goes on")
        #expect(try left() == 0)
        let counted = try world.connection.column(
            """
            SELECT outcome || ' ' || count(*) FROM fanfare.deliveries WHERE event_id = $1 GROUP BY outcome ORDER BY outcome
            """,
            "\(event)"
        )
        #expect(counted == ["accepted 1", "cancelled 32", "disabled 1", "unknown 1"])
        let tallies = try world.connection.column(
            """
            SELECT c.outcome || ' ' || sum(s.deliveries) FROM fanfare.stats_pending AS s JOIN fanfare.outcome_codes AS c ON c.code = s.outcome
            WHERE s.gate_id = \(gate) GROUP BY c.outcome ORDER BY c.outcome
            """
        )
        #expect(tallies == counted)
    }

    /// An aborted plan is planned to its end, so that every recipient has a row.
    @Test func aPlanGoesOnAndIsSwept() throws {
        try world.connection.execute(
            """
            INSERT INTO fanfare.devices (app_id, target_id, provider, token, token_hash)
            SELECT app_id, target_id, 'apns', g::text, sha256(g::text::bytea)
            FROM (SELECT * FROM fanfare.devices LIMIT 1) AS d, generate_series(1, 25000) AS g;
            """
        )
        try world.rule("all", event: "all", to: #"{"everyone": true}"#, #""lane": "bulk""#)
        let gate = try world.gate("all", lane: 2)
        let event = try world.emit("all")
        #expect(try world.setGates("all", "abort"))
        #expect(try world.sweep(gate).isEmpty, "the event is still to be planned")
        try world.planRounds()
        #expect(try world.connection.number("SELECT gate_id FROM fanfare.plans") == Int64(gate))
        #expect(try world.sweep(gate).isEmpty, "the plan goes on")
        try world.slice()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches WHERE gate_id <> \(gate)") == 0)
        #expect(try world.sweep(gate) == [gate])
        let recorded = "SELECT count(*) FROM fanfare.deliveries WHERE event_id = $1 AND outcome = 'cancelled'"
        #expect(try world.connection.number(recorded, "\(event)") == 25_035)
        #expect(try left() == 0)
    }

    @Test func aRulesGateGoesOnWhenNothingIsLeftAndEndsWithTheRule() throws {
        let gate = try world.gate("r")
        #expect(try world.connection.run(LiveGates()).map(\.id) == [gate])
        try world.emit("e", #"{"u": "u"}"#)
        #expect(try world.setGates("r", "abort", why: "wrong"))
        #expect(try world.connection.run(SQL.finishGates()).isEmpty, "the event is still to be planned")
        try world.plan()
        #expect(try world.connection.run(SQL.finishGates()).isEmpty, "batches are left")
        #expect(try world.state(gate) == "aborting")
        #expect(try world.sweep(gate) == [gate])
        #expect(try world.state(gate) == "open", "the rule goes on")
        #expect(try world.connection.run(SQL.finishGates()).isEmpty)
        try world.connection.execute("SELECT fanfare.drop_rule('shop', 'r')")
        #expect(try world.connection.run(SQL.finishGates()) == [gate])
        #expect(try world.state(gate) == "done")
        #expect(try world.setGates("r", "pause") == false)
    }

    @Test func whatIsLongDoneIsForgotten() throws {
        let old = try world.gate("r", run: 1)
        let recent = try world.gate("r", run: 2)
        let live = try world.gate("r", run: 3)
        try world.connection.execute(
            """
            UPDATE fanfare.gates SET state = 'done', ended_at = now() - CASE id WHEN \(old) THEN interval '401 days'
                ELSE interval '399 days' END WHERE id <> \(live);
            INSERT INTO fanfare.gate_stats SELECT id, 1, 5 FROM fanfare.gates
            """
        )
        var chores = world.chores()
        try chores.run(on: world.connection)
        for table in ["gates", "gate_stats"] {
            let ids = "SELECT \(table == "gates" ? "id" : "gate_id") FROM fanfare.\(table) ORDER BY 1"
            #expect(try world.connection.column(ids) == ["\(recent)", "\(live)"])
        }
    }

    @Test func timeToLiveRunsFromWhenItIsDue() throws {
        try world.rule("brief", event: "b", to: #"{"users": "$.u"}"#, #""ttl": "1h""#)
        let event = try world.emit("b", #"{"u": "u"}"#)
        try world.plan()
        func decided(due: String) throws -> [Outcome] {
            try world.connection.execute("UPDATE fanfare.batches SET due_at = \(due), owner = NULL, lease_token = NULL")
            return try world.prepare(try world.claim()).flatMap(\.decided).map(\.outcome)
        }
        world.context.lease.begin(owner: 1, startedAt: Clocks.steady, databaseNow: Clocks.wall)
        #expect(try decided(due: "now() - interval '2 h'") == Array(repeating: .expired, count: 35))
        #expect(try decided(due: "now() - interval '50 min'") == [])
        try world.connection.execute(
            "UPDATE fanfare.event_log SET created_at = now() - interval '20 h' WHERE id = \(event)"
        )
        #expect(try decided(due: "NULL") == Array(repeating: .expired, count: 35))
        #expect(try decided(due: "now() - interval '10 min'") == [], "emitted long ago, for now")
    }

    /// A daemon without credentials for the target ends it by the same rule.
    @Test func whatNobodyClaimsEndsByItToo() throws {
        let event = try emit()
        try world.connection.execute(
            """
            UPDATE fanfare.event_log SET created_at = now() - interval '2 days' WHERE id = \(event);
            UPDATE fanfare.batches SET id = id - (2::bigint << 32);
            UPDATE fanfare.batches SET due_at = now() - CASE WHEN id % 2 = 0 THEN interval '23 h' ELSE interval '25 h' END
            """
        )
        #expect(try world.connection.run(EndBatches()) == [2])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches WHERE id % 2 = 0") == 2)
    }

    @Test func aRuleHasOneGate() throws {
        let make = "SELECT fanfare.make_gate(id) FROM fanfare.rules"
        #expect(world.connection.refusal(make) == nil)
        #expect(world.connection.refusal(make)?.constraint == "gates_of_rule", "a rule has one of its own at most")
    }

    /// Batches that wait for a gate or a rate are not findings.
    @Test func theAuditPassesOverWhatIsHeldBack() throws {
        let gate = try world.gate("r")
        _ = try emit()
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now() - interval '1 h'")
        func standing() throws -> Int {
            try world.connection.run(SQL.standingBatches(60 * Micros.second)).count
        }
        #expect(try standing() == 4)
        for (change, count) in [
            ("is_paused = true", 0), ("is_paused = false, rate_id = 1", 0), ("rate_id = NULL, state = 'held'", 0),
            ("state = 'aborting'", 0), ("state = 'done', ended_at = now()", 4),
        ] {
            try world.connection.execute("UPDATE fanfare.gates SET \(change)")
            #expect(try standing() == count, "\(change)")
        }
        try world.connection.execute("DELETE FROM fanfare.gates")
        #expect(try standing() == 4, "nobody will ever open gate \(gate)")
    }
}
