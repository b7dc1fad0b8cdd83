internal import FanfareCore
internal import FanfareHTTP
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes of events and their outcomes.
    static let events: [Route] = [
        Route(.post, "/v1/events", .emitter) { call in
            var fields = try call.fields()
            let event = try NewEvent(from: &fields, at: "", ofTrace: call.trace)
            return try await Answer(once: call.database.emit([event], once: call.requestKey)) {
                ["id": .string("\($0[0])")]
            }
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
            return try await Answer(once: call.database.emit(events, once: call.requestKey)) { ids in
                ["ids": .array(ids.map { .string("\($0)") })]
            }
        },
        Route(.get, "/v1/events/{id}", .reader) { call in
            Answer(try await call.database.event(call.id("id")).json)
        },
        Route(.post, "/v1/events/{id}/cancel", .emitter) { call in
            try call.fields(orEmpty: true).end()
            let isCancelled = try await call.database.cancel(call.id("id"))
            // A token of scope `emitter` may not read events, but may learn that this one does not exist.
            if !isCancelled { _ = try await call.context.database.event(call.id("id")) }
            return Answer(["cancelled": .bool(isCancelled)])
        },
        Route(.post, "/v1/events/cancel", .emitter) { call in
            var fields = try call.fields()
            let (type, key) = (try fields.text("type"), try fields.text("key"))
            try fields.end()
            return Answer(["cancelled": .bool(try await call.database.cancel(type: type, key: key))])
        },
        Route(.post, "/v1/events/{id}/retract", .emitter) { call in
            var fields = try call.fields(orEmpty: true)
            let user = try fields.text(orNil: "user_id")
            try fields.end()
            let event = try call.id("id")
            guard try await call.database.retract(event, from: user) else { throw ToolDatabase.noEvent(event) }
            return Answer(["retracted": true])
        },
        Route(.post, "/v1/events/retract", .emitter) { call in
            var fields = try call.fields()
            let (type, key) = (try fields.text("type"), try fields.text("key"))
            let user = try fields.text(orNil: "user_id")
            try fields.end()
            return Answer(["retracted": .bool(try await call.database.retract(type: type, key: key, from: user))])
        },
        Route(.get, "/v1/events/{id}/deliveries", .reader) { call in
            let event = try call.id("id")
            let page = try await Page(call, numbers: ToolDatabase.placeOfPush)
            let found = try await call.database.pushes(ofEvent: event, after: page.after, limit: Int(page.limit))
            // An empty page needs a check that the event exists.
            if found.rows.isEmpty, page.after == nil { _ = try await call.database.event(event) }
            return try await page.answer(found.rows.map(\.json), next: found.next)
        },
        Route(.get, "/v1/events/{id}/reports", .reader) { call in
            Answer(["data": .array(try await call.database.funnel(ofEvent: call.id("id")).map(\.json))])
        },
    ]
}

extension NewEvent {
    /// Reads an event; it belongs to the request's trace unless it names another.
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
            payload: try fields.payload(orNil: "payload", at: pointer) ?? JSONObject(),
            key: try fields.text(orNil: "key"),
            ttl: try fields.span(orNil: "ttl"),
            trace: try fields.text(orNil: "traceparent").flatMap { TraceContext(traceparent: $0) } ?? trace,
            due: try fields.dueTime(orNil: "at", at: pointer)
        )
        try fields.end()
    }
}
