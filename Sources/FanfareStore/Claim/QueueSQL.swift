/// SQL that looks into queues, along the index `batches_gate`.
enum QueueSQL {
    /// Whether a batch waits in a queue, whenever it is due.
    ///
    /// - Parameters:
    ///   - batch: the alias of `batches`.
    ///   - gate: the gate, 0 for none.
    ///   - target: the target.
    ///   - lane: the lane.
    ///   - isRetry: whether the queue is of retries.
    /// - Returns: a condition.
    static func waits(_ batch: String, gate: String, target: String, lane: String, isRetry: String) -> String {
        """
        \(batch).lease_token IS NULL AND \(batch).gate_id = \(gate) AND \(batch).target_id = \(target) AND \
        \(batch).lane = \(lane) AND \(batch).is_retry = \(isRetry)
        """
    }

    /// When the first batch `d` of each place `p` is due, `$1` to `$3` being the places.
    static let firstOfEachPlace = """
        unnest($1::int[], $2::smallint[], $3::smallint[]) AS p (gate_id, target_id, lane)
        CROSS JOIN unnest(ARRAY[false, true]) AS r (is_retry)
        CROSS JOIN LATERAL (
            SELECT x.not_before FROM fanfare.batches AS x
            WHERE \(waits("x", gate: "p.gate_id", target: "p.target_id", lane: "p.lane", isRetry: "r.is_retry"))
            ORDER BY x.not_before LIMIT 1
        ) AS d
        """

    /// Whether nothing closes a gate.
    ///
    /// - Parameters:
    ///   - gate: its id.
    ///   - hasNoRate: whether one with a rate is as good as closed.
    /// - Returns: a condition.
    static func isOpen(_ gate: String, hasNoRate: Bool = false) -> String {
        """
        (\(gate) = 0 OR EXISTS (
            SELECT FROM fanfare.gates AS g
            WHERE g.id = \(gate) AND g.state = 'open' AND NOT g.is_paused\(hasNoRate ? " AND g.rate_id IS NULL" : "") OFFSET 0))
        """
    }

    /// How many deliveries a batch has at most: of one that waits behind a gate with a rate, what that lets through in a tenth of a second; of
    /// a rate that grows, at its slowest.
    ///
    /// One below twenty a second: what is slower shall not come in bursts either. It fills the queue with small batches, but not
    /// for long: what has not gone after a day is late, and that are ten batches for each second of it at most.
    ///
    /// - Parameters:
    ///   - limit: the most of any batch.
    ///   - gate: the gate, 0 for none.
    /// - Returns: an integer, to be asked for once and not for each delivery.
    static func batchSize(_ limit: String, gate: String) -> String {
        """
        least(\(limit), (
            SELECT greatest(1, floor(\(RateSQL.portion(RateSQL.slowest("r")))))::int
            FROM fanfare.gates AS g JOIN fanfare.rates AS r ON r.id = g.rate_id WHERE g.id = \(gate)))
        """
    }
}
