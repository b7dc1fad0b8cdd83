public import FanfareCore
public import FanfareRecords
internal import PostgresClient

/// An event to be emitted.
public struct NewEvent: Sendable {
    /// The event's type, such as `order.shipped`.
    public let type: String
    /// The payload.
    public let payload: JSONObject
    /// The idempotency key, if any.
    public let key: String?
    /// How long the event may be delivered, if shorter than the rules' ttl.
    public let ttl: TimeSpan?
    /// The trace that the event belongs to, if any.
    public let trace: TraceContext?
    /// When it is due; nil for now.
    public let due: DueTime?

    /// Describes an event.
    ///
    /// - Parameters:
    ///   - type: the event's type, such as `order.shipped`.
    ///   - payload: the payload.
    ///   - key: the idempotency key, if any.
    ///   - ttl: how long the event may be delivered.
    ///   - trace: the trace that the event belongs to.
    ///   - due: when it is due; nil for now.
    public init(
        type: String,
        payload: JSONObject,
        key: String?,
        ttl: TimeSpan?,
        trace: TraceContext? = nil,
        due: DueTime? = nil
    ) {
        (self.type, self.payload, self.key, self.ttl, self.trace) = (type, payload, key, ttl, trace)
        self.due = due
    }
}

extension ToolDatabase {
    /// Emits events, all of them or none.
    ///
    /// - Parameters:
    ///   - events: at least one.
    ///   - once: the idempotency key of a token's request; nil if the request may be sent only once.
    /// - Returns: the events' ids, in the order of the events; for an event that is due later, that of its scheduled row.
    /// - Throws: ``ToolError``; then nothing was emitted, unless the connection was lost in between.
    public func emit(
        _ events: [NewEvent],
        once: RequestKey? = nil
    ) async throws(ToolError) -> RequestFate<[Int64]> {
        let statement = EmitEvents(
            types: events.map(\.type),
            payloads: events.map { JSONValue.object($0.payload).text },
            keys: events.map(\.key),
            ttlSeconds: events.map { $0.ttl?.seconds },
            traces: events.map(\.trace),
            times: events.map(\.due)
        )
        return try await change(once: once) { connection throws(PostgresError) in
            try connection.run(statement)
        } ids: {
            $0
        } again: { _, ids in
            ids
        } action: { ids in
            ids.first.map { ToolAction("event.emit", "\($0)", count: Int64(ids.count)) }
        }
    }

    /// Sends a message without a rule.
    ///
    /// - Parameters:
    ///   - message: the argument of `fanfare.send`, which checks it.
    ///   - trace: the trace that its event belongs to, if any.
    ///   - once: the idempotency key of a token's request; nil if the request may be sent only once.
    /// - Returns: the id of its event.
    /// - Throws: ``ToolError``; then nothing was sent, unless the connection was lost in between.
    public func send(
        _ message: JSONObject,
        trace: TraceContext? = nil,
        once: RequestKey? = nil
    ) async throws(ToolError) -> RequestFate<[Int64]> {
        let statement = SQL.sendMessage(JSONValue.object(message).text, trace?.traceparent)
        return try await change(once: once) { connection throws(PostgresError) in
            try connection.run(statement)
        } ids: {
            $0
        } again: { _, ids in
            ids
        } action: { ids in
            ids.first.map { ToolAction("message.send", "\($0)") }
        }
    }

    /// Cancels the unsent deliveries of an event.
    ///
    /// - Parameter id: the event's id, or that of its scheduled row.
    /// - Returns: whether the event exists and is not finished.
    /// - Throws: ``ToolError``.
    public func cancel(_ id: Int64) async throws(ToolError) -> Bool {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.cancelEvent(id)).first ?? false
        } action: { _ in
            ToolAction("event.cancel", "\(id)")
        }
    }

    /// Cancels the unsent deliveries of the event with a type and a key; later events with the key are sent.
    ///
    /// - Parameters:
    ///   - type: the event's type.
    ///   - key: its key.
    /// - Returns: whether such an event exists and is not finished.
    /// - Throws: ``ToolError``.
    public func cancel(type: String, key: String) async throws(ToolError) -> Bool {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.cancelKey(type, key)).first ?? false
        } action: { _ in
            ToolAction("event.cancel", "\(type)/\(key)")
        }
    }

    /// Cancels the unsent deliveries of events.
    ///
    /// - Parameter ids: the events' ids.
    /// - Returns: the number of events cancelled.
    /// - Throws: ``ToolError``; nothing is cancelled then.
    package func cancel(_ ids: [Int64]) async throws(ToolError) -> Int64 {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.cancelEvents(ids)).first ?? 0
        } action: {
            ToolAction("event.cancel", ids.first.map { "\($0)" }, count: $0)
        }
    }

    /// Looks up one event.
    ///
    /// - Parameter id: its id, or that of its scheduled row.
    /// - Returns: the event and its fate.
    /// - Throws: ``ToolError``, also if there is no such event.
    public func event(_ id: Int64) async throws(ToolError) -> EventReport {
        let event = try await eventID(of: id)
        let found = try await rows(of: SQL.showEvent(event)).first
        guard let found else { throw Self.noEvent(id) }
        return found
    }

    /// Returns the error for an event id that does not exist.
    package static func noEvent(_ id: Int64) -> ToolError {
        ToolError(
            .failed,
            "there is no event \(id)",
            hint: "It may have been deleted: see retention.log.",
            isAbsence: true
        )
    }
}

extension EventReport {
    /// The report as JSON; ids are text, because JavaScript's numbers are too small for them.
    public var json: JSONValue {
        [
            "id": .string("\(id)"), "type": .string(type), "key": JSONValue(orNull: key),
            "created_at": JSONValue(createdAt), "fate": .string(fate), "detail": JSONValue(orNull: detail),
            "deliveries": JSONValue(deliveries), "trace_id": JSONValue(orNull: traceID),
        ]
    }
}

extension DeliveryRow {
    /// The row as JSON; ids are text.
    public var json: JSONValue {
        [
            "event_id": .string("\(place.event)"), "event_type": .string(eventType), "app": .string(app),
            "rule": .string(rule), "rule_version": JSONValue(Int64(ruleVersion)), "provider": .string(provider),
            "environment": .string(environment), "device_id": .string("\(place.device)"),
            "user_id": JSONValue(orNull: userID), "attempt": JSONValue(Int64(attempt)), "outcome": .string(outcome),
            "reason": .string(reason), "at": at.map { JSONValue($0) } ?? .null, "detail": JSONValue(orNull: detail),
            "batch_id": .string("\(place.batch)"), "reports": .array(reports.map(JSONValue.string)),
        ]
    }
}
