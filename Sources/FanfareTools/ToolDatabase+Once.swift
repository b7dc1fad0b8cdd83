internal import FanfareStore
internal import PostgresClient

/// By what a request is known that may come twice.
public struct RequestKey: Sendable {
    /// What the client calls it; 1 to 255 bytes.
    public let key: String
    /// SHA-256 of what is asked.
    public let bodyHash: [UInt8]

    /// Names a request.
    ///
    /// - Parameters:
    ///   - key: what the client calls it.
    ///   - bodyHash: SHA-256 of what is asked.
    public init(_ key: String, bodyHash: [UInt8]) {
        (self.key, self.bodyHash) = (key, bodyHash)
    }
}

/// What came of a request that may come twice.
public enum RequestFate<Value: Sendable>: Sendable {
    /// It was done.
    case done(Value)
    /// The same request was done before, with this.
    case repeated(Value)
    /// The same request is being done now.
    case running
    /// Another request was done with this key.
    case keyReused

    /// The same with another value.
    ///
    /// - Parameter transform: makes it of what was done.
    /// - Returns: what came of the request.
    /// - Throws: what `transform` throws.
    func map<Other>(_ transform: (Value) throws(ToolError) -> Other) throws(ToolError) -> RequestFate<Other> {
        switch self {
        case .done(let value): .done(try transform(value))
        case .repeated(let value): .repeated(try transform(value))
        case .running: .running
        case .keyReused: .keyReused
        }
    }

    /// What was done, now or before.
    ///
    /// - Returns: the value.
    /// - Throws: ``ToolError`` where nothing was; never for a request without a key.
    public func get() throws(ToolError) -> Value {
        switch self {
        case .done(let value), .repeated(let value): return value
        case .running: throw ToolError(.failed, "the first request with this key is not done yet", hint: "Try again.")
        case .keyReused: throw ToolError(.failed, "this key was used for another request", hint: "Use a new key.")
        }
    }
}

extension ToolDatabase {
    /// Changes something in one transaction, unless the same request of the same token has done so before.
    ///
    /// - Parameters:
    ///   - once: by what the request is known again, for a token's; nil if it may come only once.
    ///   - work: what to do; must not begin or end a transaction itself.
    ///   - ids: by what it is found again; without any, a second request is done like a first one.
    ///   - again: what a first request did that is found by these, with the rights of the program.
    ///   - action: what was done; nil for nothing.
    /// - Returns: what came of it.
    /// - Throws: ``ToolError`` for what the database says; nothing has changed then.
    func change<Value: Sendable>(
        once: RequestKey?,
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value,
        ids: @escaping @Sendable (Value) -> [Int64],
        again: @escaping @Sendable (PostgresConnection, [Int64]) throws(PostgresError) -> Value,
        action: @escaping @Sendable (Value) -> ToolAction?
    ) async throws(ToolError) -> RequestFate<Value> {
        let tokenID = caller?.tokenID ?? 0
        return try await change { connection throws(PostgresError) -> RequestFate<Value>? in
            guard let once else { return nil }
            guard try connection.run(ClaimRequest(tokenID: tokenID, key: once.key)).first == true else {
                return .running
            }
            guard let first = try connection.run(FindRequest(tokenID: tokenID, key: once.key)).first else { return nil }
            guard first.bodyHash == once.bodyHash else { return .keyReused }
            return .repeated(try again(connection, first.eventIDs))
        } _: { connection throws(PostgresError) -> RequestFate<Value> in
            .done(try work(connection))
        } afterwards: { connection, fate throws(PostgresError) in
            guard let once, case .done(let value) = fate, case let ids = ids(value), !ids.isEmpty else { return }
            let kept = KeepRequest(tokenID: tokenID, key: once.key, bodyHash: once.bodyHash, eventIDs: ids)
            _ = try connection.runReturningCount(kept)
        } action: { fate in
            guard case .done(let value) = fate else { return nil }
            return action(value)
        }
    }

    /// Whether a request with this key was done before.
    ///
    /// - Parameter once: the key; nil for none.
    /// - Returns: whether it is known.
    /// - Throws: ``ToolError`` for what the database says.
    func knows(_ once: RequestKey?) async throws(ToolError) -> Bool {
        guard let once else { return false }
        let tokenID = caller?.tokenID ?? 0
        // No role of a token may look.
        var database = self
        database.forgetCaller()
        return try await database.run { connection throws(PostgresError) in
            try !connection.run(FindRequest(tokenID: tokenID, key: once.key)).isEmpty
        }
    }
}
