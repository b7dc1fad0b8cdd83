public import FanfareCore
public import FanfareRecords
internal import PostgresClient

/// The properties of a new token of the HTTP API.
public struct APITokenRequest: Sendable {
    /// The token's name.
    public var name: String
    /// The scopes that it grants; at least one.
    public var scopes: [TokenScope]
    /// The only app that it gives access to; nil for all.
    public var app: String?
    /// The rate limit in requests a second; nil for the configuration's.
    public var rate: Int32?
    /// The time until it expires; nil for never.
    public var lifetime: TimeSpan?

    /// Makes a request with defaults.
    ///
    /// - Parameters:
    ///   - name: the token's name.
    ///   - scopes: the scopes that it grants.
    public init(name: String, scopes: [TokenScope]) {
        (self.name, self.scopes) = (name, scopes)
    }
}

extension ToolDatabase {
    /// Creates a token.
    ///
    /// - Parameter request: the properties of the token.
    /// - Returns: the token; the database stores only its hash.
    /// - Throws: ``ToolError``; of kind `usage` for a token without scopes, or one for events that is limited to an
    ///   app.
    public func createToken(_ request: APITokenRequest) async throws(ToolError) -> APIToken {
        guard (1...200).contains(request.name.utf8.count), !request.name.contains(where: \.isNewline) else {
            throw ToolError(.usage, "the name is empty, too long or has several lines", hint: "Use 1 to 200 bytes.")
        }
        guard !request.scopes.isEmpty else {
            let all = TokenScope.allCases.map(\.rawValue).joined(separator: ", ")
            throw ToolError(.usage, "it would allow nothing", hint: "Add --scope, one or more of \(all).")
        }
        if request.app != nil, request.scopes.contains(.emitter) {
            throw ToolError(
                .usage,
                "events belong to no app, so an emitter affects all apps",
                hint: "Leave out --app, or the scope emitter."
            )
        }
        let secret = try APIToken.newSecret()
        let statement = SQL.createAPIToken(
            request.name,
            APIToken.hash(of: secret),
            TokenScope.allCases.filter(request.scopes.contains).map(\.rawValue),
            request.app,
            request.rate,
            request.lifetime?.seconds
        )
        let id = try await rows(of: statement).first ?? 0
        return APIToken(id: id, secret: secret)
    }

    /// Lists tokens, the newest first.
    ///
    /// - Parameter onlyValid: whether expired and revoked tokens are left out.
    /// - Returns: the tokens, without secrets.
    /// - Throws: ``ToolError``.
    public func tokens(onlyValid: Bool) async throws(ToolError) -> [APITokenRow] {
        try await rows(of: SQL.listAPITokens(onlyValid))
    }

    /// Revokes a token; daemons refuse it within a second.
    ///
    /// - Parameter id: its id.
    /// - Returns: whether it was not revoked before.
    /// - Throws: ``ToolError``, also if there is no such token.
    public func revokeToken(_ id: Int32) async throws(ToolError) -> Bool {
        let revoked = try await rows(of: SQL.revokeAPIToken(id)).first
        guard let revoked else {
            throw ToolError(
                .failed,
                "there is no token \(id)",
                hint: "`fanfare tokens list` shows their ids.",
                isAbsence: true
            )
        }
        return revoked
    }
}

extension APITokenRow {
    /// The token as JSON, without its secret and hash.
    public var json: JSONValue {
        [
            "id": JSONValue(id: Int64(id)), "name": .string(name), "scopes": .array(scopes.map { .string($0) }),
            "app": JSONValue(orNull: app), "rate": JSONValue(orNull: rate.map(Int64.init)),
            "created_at": JSONValue(createdAt), "expires_at": expiresAt.map { JSONValue($0) } ?? .null,
            "revoked_at": revokedAt.map { JSONValue($0) } ?? .null, "used_at": usedAt.map { JSONValue($0) } ?? .null,
            "valid": .bool(isValid),
        ]
    }
}
