internal import FanfareCore
internal import PostgresClient

/// The SQL that the claiming statements share.
enum ClaimSQL {
    /// Locks the due batches of the queue `w`, behind a gate.
    static func ready(gate: String) -> String {
        """
        SELECT x.id, x.not_before FROM fanfare.batches AS x
        WHERE \(QueueSQL.waits("x", gate: gate, target: "w.target_id", lane: "w.lane", isRetry: "w.is_retry"))
            AND x.not_before >= w.floor AND x.not_before <= statement_timestamp()
        ORDER BY x.not_before, x.id LIMIT w.n
        FOR UPDATE SKIP LOCKED
        """
    }

    /// Claims the batches of the CTE `picked` that are not claimed.
    static let taking = take(and: " AND b.owner IS NULL")

    /// Claims the batches of the CTE `picked`.
    ///
    /// - Parameter condition: a further condition on a batch `b`. Batches that were locked as unclaimed need none; if
    ///   there are few batches, the planner would rather search for those without an owner than for those picked.
    /// - Returns: the statement.
    static func take(and condition: String) -> String {
        """
        UPDATE fanfare.batches AS b SET owner = $1, lease_token = $2
        FROM picked
        WHERE b.id = picked.id\(condition)
        RETURNING b.id, b.lease_token, b.target_id, (b.lane * 2 + b.is_retry::int)::smallint, b.rule_version, b.attempt,
            b.history, b.event_id, b.event_ids, b.device_ids, b.outcomes, b.not_before, b.gate_id, b.due_at, statement_timestamp()
        """
    }

    /// Binds `$1` to `$7`: owner, lease token, and the requests except for their gates.
    static func bind(_ requests: [BatchRequest], owner: Int32, leaseToken: Int64, to binds: inout PostgresBinds) {
        binds.append(owner)
        binds.append(leaseToken)
        binds.append(requests.map(\.target))
        binds.append(requests.map(\.queue.lane.rawValue))
        binds.append(requests.map(\.queue.isRetry))
        binds.append(requests.map(\.count))
        binds.append(requests.map(\.floor))
    }

    /// Decodes a row of ``taking``.
    ///
    /// - Parameters:
    ///   - row: the row.
    ///   - start: the number of its first column.
    /// - Returns: the batch.
    /// - Throws: an error if the row has another shape.
    static func decode(_ row: borrowing PostgresRow, from start: Int = 0) throws(PostgresError) -> ClaimedBatch {
        ClaimedBatch(
            id: try row.int64(start),
            leaseToken: try row.int64(start + 1),
            target: try row.int16(start + 2),
            queue: SendQueue(number: try row.int16(start + 3)),
            gate: try row.int32(start + 12),
            ruleVersion: try row.int32(start + 4),
            attempt: try row.int16(start + 5),
            history: RetryHistory(encoded: try row.int32(start + 6)),
            eventID: try row.int64(orNil: start + 7),
            eventIDs: try row.read(start + 8) ?? [],
            deviceIDs: try row.read(start + 9),
            outcomes: try row.bytes(start + 10),
            notBefore: try row.timestamp(start + 11),
            dueAt: try row.timestamp(orNil: start + 13),
            claimedAt: try row.timestamp(start + 14)
        )
    }
}
