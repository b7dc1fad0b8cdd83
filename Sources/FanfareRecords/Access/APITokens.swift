package import PostgresClient

/// A token of the HTTP API; only its secret's hash is stored.
public struct APITokenRow: Sendable {
    /// The token's id, which is part of the token.
    public let id: Int32
    /// The token's name.
    public let name: String
    /// The SHA-256 of the token's secret.
    package let secretHash: [UInt8]
    /// The roles that it grants, without the prefix `fanfare_`.
    public let scopes: [String]
    /// The only app that it may access; nil for all.
    public let app: String?
    /// The allowed requests per second; nil for the configured default.
    public let rate: Int32?
    package let createdAt: Timestamp
    package let expiresAt: Timestamp?
    package let revokedAt: Timestamp?
    package let usedAt: Timestamp?
    /// Whether the token can be used now, being neither revoked nor expired.
    public let isValid: Bool
}

extension SQL {
    /// All tokens, the newest first.
    ///
    /// Binds: onlyValid.
    package static let listAPITokens = Statement<APITokenRow, Bool>(
        "list_api_tokens",
        """
        SELECT id, name, secret_hash, scopes, app, rate, created_at, expires_at, revoked_at, used_at,
            revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())
        FROM fanfare.api_tokens
        WHERE NOT $1 OR revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())
        ORDER BY id DESC
        """,
        row: APITokenRow.init
    )

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
