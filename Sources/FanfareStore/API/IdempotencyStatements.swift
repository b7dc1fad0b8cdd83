package import PostgresClient

/// Locks the idempotency key of a request until the transaction ends, and looks for an earlier request with it.
package struct ClaimRequest: PostgresStatement {
    package static let name = "claim_request"
    // The lock comes first, so that the next statement sees what the previous holder committed.
    package static let sql = """
        SELECT pg_try_advisory_xact_lock(hashtextextended($1::text || ':' || $2, 0))
        """

    package let tokenID: Int32
    package let key: String

    package init(tokenID: Int32, key: String) {
        (self.tokenID, self.key) = (tokenID, key)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(tokenID)
        binds.append(key)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Finds the result of an earlier request with the same key; no row if there is none.
package struct FindRequest: PostgresStatement {
    package static let name = "find_request"
    package static let sql = """
        SELECT body_hash, event_ids FROM fanfare.api_requests WHERE token_id = $1 AND key = $2
        """

    package let tokenID: Int32
    package let key: String

    package init(tokenID: Int32, key: String) {
        (self.tokenID, self.key) = (tokenID, key)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(tokenID)
        binds.append(key)
    }

    package static func decode(
        _ row: borrowing PostgresRow
    ) throws(PostgresError) -> (bodyHash: [UInt8], eventIDs: [Int64]) {
        (try row.bytes(0), try row.read(1))
    }
}

extension SQL {
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
