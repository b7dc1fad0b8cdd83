internal import FanfareCore

/// The CTE `queued`: cuts the CTE `deliveries` into batches of one rule version, one target, and one gate or none; and before it the CTE
/// `paced`, if that is asked for.
///
/// All that waits behind a gate does so in the gate's lane, if that has one, whichever lane the version says: who claims looks
/// nowhere else.
///
/// Batches of several targets alternate in proportion to the targets' numbers of deliveries. A rate takes them in this order, so that a
/// campaign that is paused or aborted has reached the same share of each provider.
///
/// - Parameters:
///   - batchSize: the SQL for the most deliveries of one batch.
///   - isPaced: whether rates of apps and providers are looked at; a lone event would pay for it where there are none.
///   - isTimed: whether deliveries have a `due_at` and a `not_before`: then those of one batch have the same.
///   - owner: the SQL for who owns a batch from the beginning; null if it is to be claimed.
///   - leaseToken: the SQL for the owner's lease token.
///   - answer: what the CTE returns of a batch.
/// - Returns: the text of both, without a comma behind it.
func queueDeliveriesSQL(
    batchSize: String,
    isPaced: Bool = true,
    isTimed: Bool = false,
    owner: String = "NULL::int",
    leaseToken: String = "NULL::bigint",
    returning answer: String = "1"
) -> String {
    // They are said once for each batch, as columns of it.
    let times = isTimed ? ", due_at, not_before" : ""
    let order = "\nORDER BY (chunk + 0.5) / count(*) OVER (PARTITION BY rule_version, target_id, gate_id\(times))"
    return """
        \(isPaced ? pacedSQL : "")queued AS (
            INSERT INTO fanfare.batches (rule_version, lane, target_id, event_id, event_ids, device_ids, gate_id, owner,
                lease_token\(times))
            SELECT rule_version,
                CASE WHEN gate_id = 0 THEN lane
                    ELSE coalesce((SELECT g.lane FROM fanfare.gates AS g WHERE g.id = gate_id), lane) END,
                target_id, event_id, event_ids, device_ids, gate_id, \(owner), \(leaseToken)\(times)
            FROM (
                SELECT rule_version, lane, target_id, gate_id, chunk\(times),
                    CASE WHEN min(event_id) = max(event_id) THEN min(event_id) END AS event_id,
                    CASE WHEN min(event_id) < max(event_id) THEN array_agg(event_id ORDER BY device_id, event_id) END AS event_ids,
                    array_agg(device_id ORDER BY device_id, event_id) AS device_ids
                FROM (
                    SELECT *, (row_number() OVER (PARTITION BY rule_version, target_id, gate_id\(times) ORDER BY device_id, event_id) - 1)
                        / \(isPaced ? pacedSizeSQL(batchSize) : batchSize) AS chunk
                    FROM deliveries
                ) AS numbered
                GROUP BY rule_version, lane, target_id, gate_id\(times), chunk
            ) AS cut\(isPaced ? order : "")
            RETURNING \(answer)
        )
        """
}

/// How many deliveries a batch has at most for each target whose app or provider has a rate: what goes in a tenth of a second.
private let pacedSQL = """
    paced AS MATERIALIZED (
        SELECT t.id AS target_id, greatest(1, floor(\(RateSQL.portion("min(r.per_second)"))))::int AS batch_size
        FROM fanfare.rates AS r JOIN fanfare.targets AS t ON \(RateSQL.isOf("r", target: "t"))
        GROUP BY t.id
    ),

    """

/// The most deliveries of a batch of `deliveries`; mostly there is no rate, and no delivery is looked at for it.
private func pacedSizeSQL(_ batchSize: String) -> String {
    """
    CASE WHEN EXISTS (SELECT FROM paced) AND lane > \(Lane.transactional.rawValue)
        THEN least(\(batchSize), (SELECT p.batch_size FROM paced AS p WHERE p.target_id = deliveries.target_id))
        ELSE \(batchSize) END
    """
}

/// SQL for the gate that an event's batches wait behind, 0 for none: its run's; that of the rule where it has none, which is
/// so for events of a campaign's type that somebody else emitted.
///
/// - Parameters:
///   - version: the alias of the rule version.
///   - event: the SQL for the event's id.
/// - Returns: an integer.
func gateSQL(of version: String, event: String) -> String {
    """
    CASE WHEN \(version).gate_id > 0
        THEN coalesce((SELECT o.gate_id FROM fanfare.runs AS o WHERE o.event_id = \(event)), \(version).gate_id)
        ELSE 0 END
    """
}
