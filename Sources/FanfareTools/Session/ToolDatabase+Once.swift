internal import FanfareStore
internal import PostgresClient

/// The idempotency key of a request that may be repeated.
public struct RequestKey: Sendable {
    /// The client's key; 1 to 255 bytes.
    public let key: String
    /// The SHA-256 hash of the request.
    public let bodyHash: [UInt8]

    /// Makes the key of a request.
    ///
    /// - Parameters:
    ///   - key: the client's key.
    ///   - bodyHash: the SHA-256 hash of the request.
    public init(_ key: String, bodyHash: [UInt8]) {
        (self.key, self.bodyHash) = (key, bodyHash)
    }
}

/// The result of a request that may be repeated.
public enum RequestFate<Value: Sendable>: Sendable {
    /// The request was performed.
    case done(Value)
    /// The same request was performed before; its result.
    case repeated(Value)
    /// The same request is in progress.
    case running
    /// The key belongs to another request.
    case keyReused

    /// Converts the value.
    ///
    /// - Parameter transform: converts the value.
    /// - Returns: the result with the converted value.
    /// - Throws: errors of `transform`.
    func map<Other>(_ transform: (Value) throws(ToolError) -> Other) throws(ToolError) -> RequestFate<Other> {
        switch self {
        case .done(let value): .done(try transform(value))
        case .repeated(let value): .repeated(try transform(value))
        case .running: .running
        case .keyReused: .keyReused
        }
    }

    /// Returns the value of the request, performed now or before.
    ///
    /// - Returns: the value.
    /// - Throws: ``ToolError`` if there is none; never for a request without a key.
    public func get() throws(ToolError) -> Value {
        switch self {
        case .done(let value), .repeated(let value): return value
        case .running: throw ToolError(.failed, "the first request with this key is not done yet", hint: "Try again.")
        case .keyReused: throw ToolError(.failed, "this key was used for another request", hint: "Use a new key.")
        }
    }
}

extension ToolDatabase {
    /// Runs a change in one transaction, unless the same token has sent the same request before.
    ///
    /// - Parameters:
    ///   - once: the idempotency key of a token's request; nil if the request may be sent only once.
    ///   - work: makes the change; must not begin or end a transaction.
    ///   - ids: returns the ids to store for a repeated request; if there are none, a repeated request is performed
    ///     again.
    ///   - again: restores the first result from those ids, with the rights of the program.
    ///   - action: returns the action to audit; nil for none.
    /// - Returns: the result.
    /// - Throws: ``ToolError`` for database errors; nothing has changed then.
    func change<Value: Sendable>(
        once: RequestKey?,
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value,
        ids: @escaping @Sendable (Value) -> [Int64],
        again: @escaping @Sendable (PostgresConnection, [Int64]) throws(PostgresError) -> Value,
        action: @escaping @Sendable (Value) -> ToolAction?
    ) async throws(ToolError) -> RequestFate<Value> {
        let tokenID = caller?.tokenID ?? 0
        return try await transaction { transaction throws(PostgresError) -> RequestFate<Value> in
            let connection = transaction.connection
            if let once {
                guard try connection.run(SQL.claimRequest(tokenID, once.key)).first == true else { return .running }
                if let first = try connection.run(SQL.findRequest(tokenID, once.key)).first {
                    guard first.bodyHash == once.bodyHash else { return .keyReused }
                    return .repeated(try again(connection, first.eventIDs))
                }
            }
            let value = try transaction.asCaller(work)
            if let once, case let ids = ids(value), !ids.isEmpty {
                let kept = SQL.keepRequest(tokenID, once.key, once.bodyHash, ids)
                _ = try connection.runReturningCount(kept)
            }
            try transaction.audit(action(value))
            return .done(value)
        }
    }

    /// Returns whether a request with this key was performed before.
    ///
    /// - Parameter once: the key; nil for none.
    /// - Returns: whether the key is known.
    /// - Throws: ``ToolError`` for database errors.
    func knows(_ once: RequestKey?) async throws(ToolError) -> Bool {
        guard let once else { return false }
        let tokenID = caller?.tokenID ?? 0
        // The roles of tokens may not read this table.
        return try await !asProgram.rows(of: SQL.findRequest(tokenID, once.key)).isEmpty
    }
}
