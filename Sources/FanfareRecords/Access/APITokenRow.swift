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
}
