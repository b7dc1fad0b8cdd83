/// The CTE `queued`: cuts the CTE `pairs` into batches of one rule version and one target.
///
/// - Parameters:
///   - batchSize: the SQL for the most pairs of one batch.
///   - claim: SQL for who owns a batch from the beginning, and its lease token; both null where it is to be claimed.
/// - Returns: the CTE's text, without a comma behind it.
func queuePairsSQL(batchSize: String, claim: (owner: String, leaseToken: String)? = nil) -> String {
    let columns = claim == nil ? "" : ", owner, lease_token"
    let values = claim.map { ",\n        \($0.owner), \($0.leaseToken)" } ?? ""
    let answer =
        claim == nil
        ? "1"
        : """
        id, rule_version, target_id, lane, owner, lease_token, CASE WHEN owner IS NOT NULL THEN device_ids END AS device_ids
        """
    return """
        queued AS (
            INSERT INTO fanfare.batches (rule_version, lane, target_id, event_id, event_ids, device_ids\(columns))
            SELECT rule_version, lane, target_id,
                CASE WHEN min(event_id) = max(event_id) THEN min(event_id) END,
                CASE WHEN min(event_id) < max(event_id) THEN array_agg(event_id ORDER BY device_id, event_id) END,
                array_agg(device_id ORDER BY device_id, event_id)\(values)
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
