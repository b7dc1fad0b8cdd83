public import FanfareCore
public import FanfareRecords

extension ToolDatabase {
    /// Emits an event.
    ///
    /// - Parameters:
    ///   - type: the event's type, such as `order.shipped`.
    ///   - payload: a JSON object as text.
    ///   - key: the idempotency key, if any.
    ///   - ttl: how long the event may be delivered, if shorter than the rules' ttl.
    ///   - trace: the trace that the event belongs to, if any.
    ///   - due: when it is due; nil for now.
    /// - Returns: the event's id; if it is due later, that of its scheduled row.
    /// - Throws: ``ToolError``; of kind `usage` if no rule can name the type, or the payload is no JSON object or too large.
    public func emit(
        type: String,
        payload: String,
        key: String?,
        ttl: TimeSpan?,
        trace: TraceContext? = nil,
        due: DueTime? = nil
    ) async throws(ToolError) -> Int64 {
        guard RuleNames.isEventType(type) else {
            throw ToolError(
                .usage,
                "no rule can name this type: it is empty, too long or has control characters",
                hint: "Use 1 to \(RuleNames.eventTypeLimit) bytes on one line, such as order.shipped."
            )
        }
        let payload = try ToolJSON.object(payload, named: "the payload")
        guard payload.storedSize <= JSONObject.payloadLimit else {
            throw ToolError(
                .usage,
                "the payload has more than \(JSONObject.payloadLimit) bytes: a daemon would refuse the event",
                hint: "Store large data, and send a reference to it."
            )
        }
        let event = NewEvent(type: type, payload: payload, key: key, ttl: ttl, trace: trace, due: due)
        guard case .done(let ids) = try await emit([event]), let id = ids.first else { return 0 }
        return id
    }
}
