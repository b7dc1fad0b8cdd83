/// SQL that reads queues along the index `batches_gate`.
package enum QueueSQL {
    /// Whether a batch waits in a queue, due or not.
    ///
    /// - Parameters:
    ///   - batch: the alias of `batches`.
    ///   - gate: the gate, 0 for none.
    ///   - target: the target.
    ///   - lane: the lane.
    ///   - isRetry: whether the queue is of retries.
    /// - Returns: a condition.
    package static func waits(_ batch: String, gate: String, target: String, lane: String, isRetry: String) -> String {
        """
        \(batch).lease_token IS NULL AND \(batch).gate_id = \(gate) AND \(batch).target_id = \(target) AND \
        \(batch).lane = \(lane) AND \(batch).is_retry = \(isRetry)
        """
    }

    /// The first batch `d` of each place `p`; `$1` to `$3` are the places.
    package static let firstOfEachPlace = """
        unnest($1::int[], $2::smallint[], $3::smallint[]) AS p (gate_id, target_id, lane)
        CROSS JOIN unnest(ARRAY[false, true]) AS r (is_retry)
        CROSS JOIN LATERAL (
            SELECT x.not_before FROM fanfare.batches AS x
            WHERE \(waits("x", gate: "p.gate_id", target: "p.target_id", lane: "p.lane", isRetry: "r.is_retry"))
            ORDER BY x.not_before LIMIT 1
        ) AS d
        """

    /// Whether a gate is open.
    ///
    /// - Parameters:
    ///   - gate: the gate's id.
    ///   - hasNoRate: whether a gate with a rate counts as closed.
    /// - Returns: a condition.
    package static func isOpen(_ gate: String, hasNoRate: Bool = false) -> String {
        """
        (\(gate) = 0 OR EXISTS (
            SELECT FROM fanfare.gates AS g
            WHERE g.id = \(gate) AND g.state = 'open' AND NOT g.is_paused\(hasNoRate ? " AND g.rate_id IS NULL" : "") OFFSET 0))
        """
    }

    /// The most deliveries of a batch.
    ///
    /// Behind a gate with a rate, it is what the rate allows in a tenth of a second, at the ramp's slowest.
    ///
    /// Below twenty deliveries a second a batch has one delivery, so that slow rates do not send bursts either. The
    /// queue then has many small batches, but not for long: a delivery expires after a day, so there are at most that
    /// day's batches, ten for each second.
    ///
    /// - Parameters:
    ///   - limit: the most deliveries of any batch.
    ///   - gate: the gate, 0 for none.
    /// - Returns: an integer expression, to be evaluated once and not for each delivery.
    package static func batchSize(_ limit: String, gate: String) -> String {
        """
        least(\(limit), (
            SELECT greatest(1, floor(\(RateSQL.portion(RateSQL.slowest("r")))))::int
            FROM fanfare.gates AS g JOIN fanfare.rates AS r ON r.id = g.rate_id WHERE g.id = \(gate)))
        """
    }
}
