package import PostgresClient

extension SQL {
    /// Stores a new token; returns its id.
    ///
    /// Binds: name, secretHash, scopes, app, rate, seconds.
    package static let createAPIToken = Statement<Int32, String, [UInt8], [String], String?, Int32?, Int64?>(
        "create_api_token",
        """
        INSERT INTO fanfare.api_tokens (name, secret_hash, scopes, app, rate, expires_at)
        VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6::float8))
        RETURNING id
        """
    )

    /// Revokes a token; returns whether that changed anything, and no row if there is no such token.
    ///
    /// Binds: id.
    package static let revokeAPIToken = Statement<Bool, Int32>(
        "revoke_api_token",
        """
        UPDATE fanfare.api_tokens AS t SET revoked_at = coalesce(t.revoked_at, clock_timestamp())
        FROM (SELECT id, revoked_at IS NULL AS was_valid FROM fanfare.api_tokens WHERE id = $1 FOR UPDATE) AS before
        WHERE t.id = before.id
        RETURNING before.was_valid
        """
    )

    /// Records that tokens were used, at most once a minute.
    ///
    /// Binds: ids.
    package static let noteTokenUse = Statement<Void, [Int32]>(
        "note_token_use",
        """
        UPDATE fanfare.api_tokens SET used_at = clock_timestamp()
        WHERE id = ANY ($1::int[]) AND (used_at IS NULL OR used_at < clock_timestamp() - interval '1 minute')
        """
    )

    /// Reads the secret that signs list cursors, which all daemons share.
    package static let readCursorSecret = Statement<[UInt8]>(
        "read_cursor_secret",
        "SELECT secret FROM fanfare.api_secret"
    )
}
