public import FanfareCore
internal import FanfareRecords
internal import FanfareStore
package import PostgresClient

extension ToolDatabase {
    /// Runs a change in one transaction, and audits it if it is made on a client's behalf.
    ///
    /// - Parameters:
    ///   - since: a typed time that the closure binds, if any.
    ///   - work: makes the change with the rights of the client; must not begin or end a transaction.
    ///   - action: returns the action to audit; nil for none.
    /// - Returns: the result of `work`.
    /// - Throws: ``ToolError`` for database errors; nothing has changed then.
    package func change<Result: Sendable>(
        since: Since? = nil,
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Result,
        action: @escaping @Sendable (Result) -> ToolAction?
    ) async throws(ToolError) -> Result {
        try await transaction(since: since) { transaction throws(PostgresError) in
            let result = try transaction.asCaller(work)
            try transaction.audit(action(result))
            return result
        }
    }

    /// Runs steps in one transaction, with the rights of the program.
    ///
    /// - Parameters:
    ///   - since: a typed time that the steps bind, if any.
    ///   - steps: the steps; must not begin or end a transaction.
    /// - Returns: the result of `steps`.
    /// - Throws: ``ToolError`` for database errors; nothing has changed then.
    func transaction<Result: Sendable>(
        since: Since? = nil,
        _ steps: @escaping @Sendable (ToolTransaction) throws(PostgresError) -> Result
    ) async throws(ToolError) -> Result {
        let caller = caller
        return try await asProgram.run(since: since) { connection throws(PostgresError) in
            try connection.transaction { connection throws(PostgresError) in
                try steps(ToolTransaction(connection: connection, caller: caller))
            }
        }
    }

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

/// An open transaction with the rights of the program, in which a client's change is made.
struct ToolTransaction {
    let connection: PostgresConnection
    /// The client; nil if the command line makes the change.
    let caller: ToolCaller?

    /// Runs the client's part of the transaction with its rights.
    func asCaller<Result>(
        _ work: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        try connection.run(inTransactionAs: caller?.scope.role, work)
    }

    /// Notes an action in the log, if a client makes the change.
    func audit(_ action: @autoclosure () -> ToolAction?) throws(PostgresError) {
        guard let note = caller.flatMap({ caller in action().map(caller.note) }) else { return }
        _ = try connection.runReturningCount(note)
    }
}

/// The client that sent the request for which a server uses the database.
public struct ToolCaller: Sendable {
    /// The scope of the action, which determines the database role.
    public let scope: TokenScope
    /// The token's name; for a phone's token, its user.
    public let actor: String
    /// The token's id; nil for a phone's token, which is not stored.
    public let tokenID: Int32?
    /// The id that finds the request's log lines.
    public let requestID: String
    /// The reason that the client gave; nil if none was required.
    public let reason: String?

    /// Assembles a caller.
    ///
    /// - Parameters:
    ///   - scope: the scope of the action.
    ///   - actor: the token's name.
    ///   - tokenID: the token's id; nil for a token that is not stored.
    ///   - requestID: the id that finds the request's log lines.
    ///   - reason: the reason that the client gave; nil if none was required.
    public init(scope: TokenScope, actor: String, tokenID: Int32?, requestID: String, reason: String? = nil) {
        (self.scope, self.actor, self.tokenID, self.requestID) = (scope, actor, tokenID, requestID)
        self.reason = reason
    }

    func note(_ action: ToolAction) -> StatementCall<Void> {
        SQL.noteAction(actor, tokenID, action.name, action.target, action.count, requestID, reason)
    }
}

/// A change, as the table of actions records it.
package struct ToolAction: Sendable {
    /// The action's name, such as `device.register`.
    package let name: String
    /// The object of the change; holds no token and no payload.
    package let target: String?
    /// The number of objects, if there are several.
    package let count: Int64?

    package init(_ name: String, _ target: String? = nil, count: Int64? = nil) {
        (self.name, self.target, self.count) = (name, target, count)
    }
}

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
