internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import PushCrypto

extension Routes {
    /// What happens, and what became of it.
    static let events: [Route] = [
        Route(.post, "/v1/events", .emitter) { call in
            var fields = try call.fields()
            let event = try NewEvent(from: &fields, at: "", ofTrace: call.trace)
            return try await emit([event], call) { ["id": .string("\($0[0])")] }
        },
        Route(.post, "/v1/events/batch", .emitter) { call in
            var fields = try call.fields()
            let listed = try fields.list("events")
            try fields.end()
            guard (1...1000).contains(listed.count) else {
                throw Fields.refusal("has \(listed.count) events, not 1 to 1000", at: "/events")
            }
            let events = try listed.enumerated().map { index, value in
                var members = try Fields(value, at: "/events/\(index)")
                return try NewEvent(from: &members, at: "/events/\(index)", ofTrace: call.trace)
            }
            return try await emit(events, call) { ["ids": .array($0.map { .string("\($0)") })] }
        },
        Route(.get, "/v1/events/{id}", .reader) { call in
            Answer(try await call.database.event(call.id("id")).json)
        },
        Route(.post, "/v1/events/{id}/cancel", .emitter) { call in
            try call.fields(orEmpty: true).end()
            let isCancelled = try await call.database.cancel(call.id("id"))
            // Who emits events may not look at them, but may learn that this one is not there.
            if !isCancelled { _ = try await call.desk.database.event(call.id("id")) }
            return Answer(["cancelled": .bool(isCancelled)])
        },
        Route(.post, "/v1/events/cancel", .emitter) { call in
            var fields = try call.fields()
            let (type, key) = (try fields.text("type"), try fields.text("key"))
            try fields.end()
            return Answer(["cancelled": .bool(try await call.database.cancel(type: type, key: key))])
        },
        Route(.get, "/v1/events/{id}/deliveries", .reader) { call in
            let event = try call.id("id")
            let page = try await Page(call, numbers: ToolDatabase.placeOfPush)
            let found = try await call.database.pushes(ofEvent: event, after: page.after, limit: Int(page.limit))
            // None of an event that is not there is no answer.
            if found.rows.isEmpty, page.after == nil { _ = try await call.database.event(event) }
            return try await page.answer(found.rows.map(\.json), next: found.next)
        },
    ]

    /// Emits, once for each `Idempotency-Key`.
    private static func emit(
        _ events: [NewEvent],
        _ call: Call,
        _ shown: ([Int64]) -> JSONValue
    ) async throws -> Answer {
        var once: RequestKey?
        if let key = call.headers[.idempotencyKey] {
            guard (1...255).contains(key.utf8.count) else {
                throw Problem(.malformed, "Idempotency-Key has not 1 to 255 bytes")
            }
            once = RequestKey(key, bodyHash: sha256(Array("\(call.path)\n".utf8) + call.body))
        }
        switch try await call.database.emit(events, once: once) {
        case .emitted(let ids): return Answer(.accepted, shown(ids))
        case .repeated(let ids):
            var answer = Answer(.accepted, shown(ids))
            answer.headers[.idempotencyReplayed] = "true"
            return answer
        case .running:
            let detail = "the first request with this Idempotency-Key is not done yet"
            var problem = Problem(.inUse, detail, hint: "Try again.")
            problem.retryAfter = 1
            throw problem
        case .keyReused:
            throw Problem(.keyReused, "this Idempotency-Key was used for another body", hint: "Use a new key.")
        }
    }
}

extension NewEvent {
    /// Reads an event, which is a part of the request's trace unless it says another itself.
    fileprivate init(from fields: inout Fields, at pointer: String, ofTrace trace: TraceContext?) throws {
        let type = try fields.text("type")
        guard RuleNames.isEventType(type) else {
            throw Fields.refusal(
                "is empty, too long or has control characters",
                at: "\(pointer)/type",
                hint: "Use 1 to \(RuleNames.eventTypeLimit) bytes, such as order.shipped."
            )
        }
        self.init(
            type: type,
            payload: try fields.object(orNil: "payload") ?? JSONObject(),
            key: try fields.text(orNil: "key"),
            ttl: try fields.span(orNil: "ttl"),
            trace: try fields.text(orNil: "traceparent").flatMap { TraceContext(traceparent: $0) } ?? trace
        )
        try fields.end()
    }
}

extension HTTPField.Name {
    /// By which a request is known that comes twice.
    static var idempotencyKey: Self { idempotency.key }
    /// Tells that an answer is that of the first request.
    static var idempotencyReplayed: Self { idempotency.replayed }

    private static let idempotency = (
        key: HTTPField.Name("Idempotency-Key") ?? .server, replayed: HTTPField.Name("Idempotency-Replayed") ?? .server
    )
}
