/// The CTE `queued`: cuts the CTE `pairs` into batches of one rule version and one target.
///
/// - Parameters:
///   - batchSize: the SQL for the most pairs of one batch.
///   - owner: the SQL for who owns a batch from the beginning; null if it is to be claimed.
///   - leaseToken: the SQL for the owner's lease token.
///   - answer: what the CTE returns of a batch.
/// - Returns: the CTE's text, without a comma behind it.
func queuePairsSQL(
    batchSize: String,
    owner: String = "NULL::int",
    leaseToken: String = "NULL::bigint",
    returning answer: String = "1"
) -> String {
    """
    queued AS (
        INSERT INTO fanfare.batches (rule_version, lane, target_id, event_id, event_ids, device_ids, owner, lease_token)
        SELECT rule_version, lane, target_id,
            CASE WHEN min(event_id) = max(event_id) THEN min(event_id) END,
            CASE WHEN min(event_id) < max(event_id) THEN array_agg(event_id ORDER BY device_id, event_id) END,
            array_agg(device_id ORDER BY device_id, event_id),
            \(owner), \(leaseToken)
        FROM (
            SELECT *, (row_number() OVER (PARTITION BY rule_version, target_id ORDER BY device_id, event_id) - 1)
                / \(batchSize) AS chunk
            FROM pairs
        ) AS numbered
        GROUP BY rule_version, lane, target_id, chunk
        RETURNING \(answer)
    )
    """
}
