package import PostgresClient

extension SQL {
    /// Reads which deliveries of a batch were taken back before they were sent, by position from 0.
    ///
    /// Two conditions, so that each is one look-up along the index.
    ///
    /// Binds: the deliveries' events, their devices, the batch's rule.
    package static let retractedDeliveries = Statement<Int32, [Int64], [Int64], Int32>(
        "retracted_deliveries",
        """
        SELECT (u.position - 1)::int
        FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS u (event_id, device_id, position)
        LEFT JOIN fanfare.devices AS d ON d.id = u.device_id
        WHERE EXISTS (
                SELECT FROM fanfare.retractions AS r
                WHERE r.event_id = u.event_id AND r.user_id IS NULL AND (r.rule_id IS NULL OR r.rule_id = $3) OFFSET 0)
            OR EXISTS (
                SELECT FROM fanfare.retractions AS r
                WHERE r.event_id = u.event_id AND r.user_id = d.user_id AND (r.rule_id IS NULL OR r.rule_id = $3) OFFSET 0)
        """
    )
}
