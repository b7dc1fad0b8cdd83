internal import FanfareCore
package import PostgresClient

/// Returns the CTE `queued`, which cuts the CTE `deliveries` into batches of one rule version, one target, and one gate
/// or none; if rates apply, the CTE `paced` comes before it.
///
/// All batches behind a gate with a lane are in that lane, regardless of the rule version's lane, because a claimer
/// reads no other lane there.
///
/// Batches of several targets alternate in proportion to the targets' numbers of deliveries. A rate takes them in this
/// order, so that a campaign that is paused or aborted has reached the same share of each provider.
///
/// - Parameters:
///   - batchSize: the SQL for the most deliveries of one batch.
///   - isPaced: whether rates of apps and providers apply; reading them would slow down a lone event even if there are
///     none.
///   - owner: the SQL for the owner that claims a batch at once; null if none does.
///   - leaseToken: the SQL for the owner's lease token.
///   - answer: the columns of a batch that the CTE returns.
/// - Returns: the text of both, without a trailing comma.
func queueDeliveriesSQL(
    batchSize: String,
    isPaced: Bool = true,
    owner: String = "NULL::int",
    leaseToken: String = "NULL::bigint",
    returning answer: String = "1"
) -> String {
    let order = "\nORDER BY (chunk + 0.5) / count(*) OVER (PARTITION BY rule_version, target_id, gate_id)"
    return """
        \(isPaced ? pacedSQL : "")queued AS (
            INSERT INTO fanfare.batches (rule_version, lane, target_id, event_id, event_ids, device_ids, gate_id, owner,
                lease_token)
            SELECT rule_version,
                CASE WHEN gate_id = 0 THEN lane
                    ELSE coalesce((SELECT g.lane FROM fanfare.gates AS g WHERE g.id = gate_id), lane) END,
                target_id, event_id, event_ids, device_ids, gate_id, \(owner), \(leaseToken)
            FROM (
                SELECT rule_version, lane, target_id, gate_id, chunk,
                    CASE WHEN min(event_id) = max(event_id) THEN min(event_id) END AS event_id,
                    CASE WHEN min(event_id) < max(event_id) THEN array_agg(event_id ORDER BY device_id, event_id) END AS event_ids,
                    array_agg(device_id ORDER BY device_id, event_id) AS device_ids
                FROM (
                    SELECT *, (row_number() OVER (PARTITION BY rule_version, target_id, gate_id ORDER BY device_id, event_id) - 1)
                        / \(isPaced ? pacedSizeSQL(batchSize) : batchSize) AS chunk
                    FROM deliveries
                ) AS numbered
                GROUP BY rule_version, lane, target_id, gate_id, chunk
            ) AS cut\(isPaced ? order : "")
            RETURNING \(answer)
        )
        """
}

/// The most deliveries of a batch for each target whose app or provider has a rate: what the rate allows in a tenth of
/// a second.
let pacedSQL = """
    paced AS MATERIALIZED (
        SELECT t.id AS target_id, greatest(1, floor(\(RateSQL.portion("min(r.per_second)"))))::int AS batch_size
        FROM fanfare.rates AS r JOIN fanfare.targets AS t ON \(RateSQL.isOf("r", target: "t"))
        GROUP BY t.id
    ),

    """

/// Returns SQL for the most deliveries of a batch of `deliveries`; usually there are no rates, and `paced` is not
/// searched for each delivery.
private func pacedSizeSQL(_ batchSize: String) -> String {
    """
    CASE WHEN EXISTS (SELECT FROM paced) AND lane > \(Lane.transactional.rawValue)
        THEN least(\(batchSize), (SELECT p.batch_size FROM paced AS p WHERE p.target_id = deliveries.target_id))
        ELSE \(batchSize) END
    """
}

/// Returns SQL for the gate that an event's batches wait behind, 0 for none: its run's, or the rule's for events
/// without a run, which have a campaign's type but were not emitted by it.
///
/// - Parameters:
///   - version: the alias of the rule version.
///   - event: the SQL for the event's id.
/// - Returns: an integer expression.
func gateSQL(of version: String, event: String) -> String {
    """
    CASE WHEN \(version).gate_id > 0
        THEN coalesce((SELECT o.gate_id FROM fanfare.runs AS o WHERE o.event_id = \(event)), \(version).gate_id)
        ELSE 0 END
    """
}

extension SQL {
    /// Whether many of an app's batches are due in a lane behind some gates.
    ///
    /// Batches behind other gates, or not yet due, do not keep senders busy, so planning does not yield to them.
    ///
    /// It reads from the newest backwards: claimed entries that cannot be vacuumed under an old snapshot are older.
    ///
    /// Binds: app, lane, limit, gates.
    package static let areManyWaiting = Statement<Bool, Int16, Int16, Int64, [Int32]>(
        "are_many_waiting",
        """
        SELECT count(*) >= $3 FROM fanfare.targets AS t CROSS JOIN unnest($4::int[]) AS g (id) CROSS JOIN LATERAL (
            SELECT FROM fanfare.batches AS b
            WHERE \(QueueSQL.waits("b", gate: "g.id", target: "t.id", lane: "$2", isRetry: "false"))
                AND b.not_before <= statement_timestamp()
            ORDER BY b.not_before DESC, b.id DESC LIMIT $3
        ) AS w
        WHERE t.app_id = $1
        """
    )
}
