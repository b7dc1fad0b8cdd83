package import PostgresClient

/// Stores a new token; returns its id.
package struct CreateAPIToken: PostgresStatement {
    package static let name = "create_api_token"
    package static let sql = """
        INSERT INTO fanfare.api_tokens (name, secret_hash, scopes, app, rate, expires_at)
        VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6::float8))
        RETURNING id
        """

    package let name: String
    package let secretHash: [UInt8]
    package let scopes: [String]
    package let app: String?
    package let rate: Int32?
    /// The token's lifetime; nil for unlimited.
    package let seconds: Int64?

    package init(name: String, secretHash: [UInt8], scopes: [String], app: String?, rate: Int32?, seconds: Int64?) {
        (self.name, self.secretHash, self.scopes) = (name, secretHash, scopes)
        (self.app, self.rate, self.seconds) = (app, rate, seconds)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(name)
        binds.append(secretHash)
        binds.append(scopes)
        binds.append(app)
        binds.append(rate)
        binds.append(seconds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int32 {
        try row.int32(0)
    }
}

/// Revokes a token; returns whether that changed anything, and no row if there is no such token.
package struct RevokeAPIToken: PostgresStatement {
    package static let name = "revoke_api_token"
    package static let sql = """
        UPDATE fanfare.api_tokens AS t SET revoked_at = coalesce(t.revoked_at, clock_timestamp())
        FROM (SELECT id, revoked_at IS NULL AS was_valid FROM fanfare.api_tokens WHERE id = $1 FOR UPDATE) AS before
        WHERE t.id = before.id
        RETURNING before.was_valid
        """

    package let id: Int32

    package init(id: Int32) {
        self.id = id
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Records that tokens were used, at most once a minute.
package struct NoteTokenUse: PostgresStatement {
    package static let name = "note_token_use"
    package static let sql = """
        UPDATE fanfare.api_tokens SET used_at = clock_timestamp()
        WHERE id = ANY ($1::int[]) AND (used_at IS NULL OR used_at < clock_timestamp() - interval '1 minute')
        """

    package let ids: [Int32]

    package init(ids: [Int32]) {
        self.ids = ids
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ids)
    }
}

/// Reads the secret that signs list cursors, which all daemons share.
package struct ReadCursorSecret: PostgresStatement {
    package static let name = "read_cursor_secret"
    package static let sql = "SELECT secret FROM fanfare.api_secret"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> [UInt8] {
        try row.bytes(0)
    }
}
