import FanfareCore
import PostgresClient

@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

extension World {
    /// Plans an event of a rule for many devices, behind a gate with a rate, as batches that are long overdue.
    ///
    /// The rate has been idle since the start of 2026.
    ///
    /// - Returns: the gate.
    func pace(_ count: Int, perSecond: Int) throws -> Int32 {
        try devices(count, user: "u")
        try rule("paced", event: "e", to: #"{"users": "$.u"}"#, #""lane": "bulk""#)
        let gate = try gate("paced")
        try connection.execute("SELECT fanfare.set_rate(rule_id, \(perSecond)) FROM fanfare.gates WHERE id = \(gate)")
        try emit("e", #"{"u": "u"}"#)
        try plan()
        try connection.execute(
            """
            UPDATE fanfare.batches SET not_before = '2025-12-01' WHERE gate_id = \(gate);
            UPDATE fanfare.rates SET next_free = '2026-01-01 00:00+00'
            """
        )
        return gate
    }

    /// Queues batches behind a gate with a rate, for a rule without other deliveries; otherwise like
    /// ``pace(_:perSecond:)``.
    ///
    /// - Parameters:
    ///   - count: the number of batches.
    ///   - size: the number of deliveries in each, to devices that do not exist.
    ///   - perSecond: the rate.
    /// - Returns: the gate.
    func pace(batches count: Int, of size: Int, perSecond: Int) throws -> Int32 {
        let gate = try pace(1, perSecond: perSecond)
        try connection.execute(
            """
            INSERT INTO fanfare.batches (rule_version, lane, target_id, event_id, device_ids, gate_id, not_before)
            SELECT b.rule_version, b.lane, b.target_id, b.event_id, ARRAY(SELECT generate_series(1::bigint, \(size))), b.gate_id,
                b.not_before
            FROM fanfare.batches AS b CROSS JOIN generate_series(1, \(count));
            DELETE FROM fanfare.batches WHERE id = (SELECT min(id) FROM fanfare.batches)
            """
        )
        return gate
    }

    /// Claims due batches behind a gate with a rate.
    ///
    /// - Parameters:
    ///   - gate: its id.
    ///   - now: a time in 2026 in seconds; nil for the database's own.
    ///   - owner: the owner of the claim.
    /// - Returns: the number of deliveries in each batch, and when the next ones are available.
    @discardableResult
    func claim(paced gate: Int32, at now: Double? = nil, owner: Int32 = 1) throws -> (sizes: [Int], wait: Double?) {
        let requests = try requests(gates: [gate]).filter { $0.gate == gate }
        let time = now.map { Timestamp(microseconds: 1_767_225_600_000_000 + Int64($0 * 1_000_000)) }
        let rows = try connection.run(
            ClaimPaced(gate: gate, requests: requests, owner: owner, leaseToken: 1, now: time)
        )
        return (rows.compactMap { $0.batch?.deviceIDs.count }, rows.first?.wait.map { Double($0) / 1_000_000 })
    }
}
