public import FanfareCore
public import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Takes an event back: stops what waits, and tells the devices that accepted it.
    ///
    /// - Parameters:
    ///   - id: the event's id.
    ///   - user: the only user to take it back from; nil for all.
    /// - Returns: whether the event is known.
    /// - Throws: ``ToolError``, also for an invalid user id.
    public func retract(_ id: Int64, from user: String? = nil) async throws(ToolError) -> Bool {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.retractEvent(id, user)).first ?? false
        } action: { _ in
            ToolAction("event.retract", "\(id)")
        }
    }

    /// Takes the events with a type and a key back; later events with the key are sent.
    ///
    /// - Parameters:
    ///   - type: the events' type.
    ///   - key: their key.
    ///   - user: the only user to take them back from; nil for all.
    /// - Returns: whether there is such an event.
    /// - Throws: ``ToolError``, also for an invalid key or user id.
    public func retract(type: String, key: String, from user: String? = nil) async throws(ToolError) -> Bool {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.retractKey(type, key, user)).first ?? false
        } action: { _ in
            ToolAction("event.retract", "\(type)/\(key)")
        }
    }

    /// Returns the identifiers that were taken back from a user's devices, the newest first.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app.
    ///   - since: devices without news since then are left out; nil for none.
    /// - Returns: at most 500; none for an unknown user.
    /// - Throws: ``ToolError``, also for an invalid time.
    public func retracted(
        from user: String,
        app: String,
        since: Since?
    ) async throws(ToolError) -> [RetractedID] {
        let statement = SQL.retractedIDs(app, user, since?.seconds, since?.text)
        return try await run(since: since) { connection throws(PostgresError) in try connection.run(statement) }
    }
}

extension RetractedID {
    /// The identifier as JSON.
    public var json: JSONValue {
        ["id": .string(id), "provider": .string(provider), "retracted_at": JSONValue(retractedAt)]
    }
}
