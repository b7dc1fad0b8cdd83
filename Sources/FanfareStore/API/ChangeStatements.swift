package import PostgresClient

extension SQL {
    /// Stores an action for the audit log.
    ///
    /// Binds: actor, tokenID, action, target, count, requestID, the reason that the actor gave.
    package static let noteAction = Statement<Void, String, Int32?, String, String?, Int64?, String, String?>(
        "note_action",
        """
        INSERT INTO fanfare.actions (actor, token_id, action, target, count, request_id, reason)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """
    )

    /// Deletes actions older than the log.
    ///
    /// Binds: retentionDays.
    package static let forgetActions = Statement<Void, Int32>(
        "forget_actions",
        """
        DELETE FROM fanfare.actions WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.actions WHERE at < statement_timestamp() - make_interval(days => $1::int)
            LIMIT \(Forgetting.limit)))
        """
    )

    /// Locks the idempotency key of a request until the transaction ends, and looks for an earlier request with it.
    ///
    /// The lock comes first, so that the next statement sees what the previous holder committed.
    ///
    /// Binds: tokenID, key.
    package static let claimRequest = Statement<Bool, Int32, String>(
        "claim_request",
        "SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || ':' || $2, 0))"
    )

    /// Finds the result of an earlier request with the same key; no row if there is none.
    ///
    /// Binds: tokenID, key.
    package static let findRequest = Statement<(bodyHash: [UInt8], eventIDs: [Int64]), Int32, String>(
        "find_request",
        "SELECT body_hash, event_ids FROM fanfare.api_requests WHERE token_id = $1 AND key = $2",
        row: { ($0, $1) }
    )

    /// Stores the result of a request.
    ///
    /// Binds: tokenID, key, bodyHash, eventIDs.
    package static let keepRequest = Statement<Void, Int32, String, [UInt8], [Int64]>(
        "keep_request",
        """
        INSERT INTO fanfare.api_requests (token_id, key, body_hash, event_ids) VALUES ($1, $2, $3, $4)
        """
    )

    /// Deletes requests whose keys have expired.
    ///
    /// Binds: retentionSeconds.
    package static let forgetRequests = Statement<Void, Int64>(
        "forget_requests",
        """
        DELETE FROM fanfare.api_requests WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.api_requests WHERE created_at < statement_timestamp() - make_interval(secs => $1::float8)
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )
}
