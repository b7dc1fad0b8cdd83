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
        (try row.bytes(0), try row.int64s(1))
    }
}

/// Stores the result of a request.
package struct KeepRequest: PostgresStatement {
    package static let name = "keep_request"
    package static let sql = """
        INSERT INTO fanfare.api_requests (token_id, key, body_hash, event_ids) VALUES ($1, $2, $3, $4)
        """

    package let tokenID: Int32
    package let key: String
    package let bodyHash: [UInt8]
    package let eventIDs: [Int64]

    package init(tokenID: Int32, key: String, bodyHash: [UInt8], eventIDs: [Int64]) {
        (self.tokenID, self.key, self.bodyHash, self.eventIDs) = (tokenID, key, bodyHash, eventIDs)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(tokenID)
        binds.append(key)
        binds.append(bodyHash)
        binds.append(eventIDs)
    }
}

/// Deletes requests whose keys have expired.
package struct ForgetRequests: PostgresStatement {
    package static let name = "forget_requests"
    package static let sql = """
        DELETE FROM fanfare.api_requests WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.api_requests WHERE created_at < statement_timestamp() - make_interval(secs => $1::float8)
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """

    package let retentionSeconds: Int64

    package init(retentionSeconds: Int64) {
        self.retentionSeconds = retentionSeconds
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(retentionSeconds)
    }
}
