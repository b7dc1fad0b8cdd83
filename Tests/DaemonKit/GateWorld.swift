import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

extension World {
    /// Creates a gate for a rule, or for one of its runs, and makes the rule's versions use it.
    @discardableResult
    func gate(_ rule: String, run: Int64? = nil, lane: Int16? = nil, state: String = "open") throws -> Int32 {
        let id = try connection.number(
            """
            SELECT fanfare.make_gate(id, $2::bigint, $3::smallint, $4) FROM fanfare.rules WHERE name = $1 AND dropped_at IS NULL
            """,
            rule,
            run.map(String.init),
            lane.map(String.init),
            state
        )
        _ = try connection.query(
            """
            UPDATE fanfare.rule_versions SET gate_id = $2::int
            WHERE rule_id = (SELECT id FROM fanfare.rules WHERE name = $1 AND dropped_at IS NULL)
            """,
            rule,
            String(id)
        )
        return Int32(id)
    }

    /// Pauses, resumes or aborts the deliveries behind a rule's gates.
    ///
    /// - Returns: whether this changed anything.
    @discardableResult
    func setGates(_ rule: String, _ what: String, why: String? = nil) throws -> Bool {
        try connection.text(
            "SELECT fanfare.set_gates(id, $2, $3) FROM fanfare.rules WHERE name = $1",
            rule,
            what,
            why
        ) == "t"
    }

    /// Returns the batch requests for every target, without a gate and for these gates.
    func requests(gates: [Int32], count: Int32 = 1000) throws -> [BatchRequest] {
        try connection.run(SQL.allTargets()).flatMap { target in
            SendQueue.allCases.flatMap { queue in
                ([0] + gates).map { gate in
                    BatchRequest(gate: gate, target: target.id, queue: queue, count: count, floor: .minusInfinity)
                }
            }
        }
    }

    /// Claims due batches without a gate and behind these gates.
    func claim(gates: [Int32], count: Int32 = 1000, owner: Int32 = 1, leaseToken: Int64 = 1) throws -> [ClaimedBatch] {
        let requests = try requests(gates: gates, count: count)
        return try connection.run(ClaimGated(requests: requests, owner: owner, leaseToken: leaseToken))
    }

    /// Runs the leader's statements, which end aborted batches and remove gates without batches.
    ///
    /// - Returns: the gates that changed.
    @discardableResult
    func sweep(_ gate: Int32) throws -> [Int32] {
        while try connection.run(SweepGate(gate: gate)).first == Int64(SweepGate.limit) {}
        return try connection.run(SQL.finishGates())
    }

    /// Returns a gate's state, and whether it is paused.
    func state(_ gate: Int32) throws -> String? {
        try connection.text(
            "SELECT state || CASE WHEN is_paused THEN ', paused' ELSE '' END FROM fanfare.gates WHERE id = $1",
            String(gate)
        )
    }
}
