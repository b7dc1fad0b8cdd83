internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import HTTPTypes

extension Routes {
    /// The routes of events that are scheduled.
    static let scheduled: [Route] = [
        Route(.get, "/v1/scheduled", .reader) { call in
            let page = try await Page(call, numbers: ToolDatabase.placeOfScheduled, filters: ["type"])
            let found = try await call.database.scheduled(
                ofType: call.query["type"],
                after: page.after,
                limit: Int(page.limit)
            )
            return try await page.answer(found.rows.map(\.json), next: found.next)
        },
        Route(.get, "/v1/scheduled/{id}", .reader) { call in
            Answer(try await call.database.scheduled(call.id("id")).json)
        },
        Route(.patch, "/v1/scheduled/{id}", .emitter) { call in
            var fields = try call.fields()
            let (due, payload) = (DueTime(try fields.time("at")), try fields.payload(orNil: "payload", at: ""))
            try fields.end()
            let id = try call.id("id")
            guard try await call.database.move(id, to: due, payload: payload) else {
                throw try await call.context.database.whyNotScheduled(id)
            }
            return Answer(["id": .string("\(id)")])
        },
        Route(.delete, "/v1/scheduled/{id}", .emitter) { call in
            let id = try call.id("id")
            guard try await call.database.cancel(id) else { throw try await call.context.database.whyNotScheduled(id) }
            return .nothing
        },
    ]
}

extension Fields {
    /// Returns when an event is due, with `zone` and `replace`, or nil if it is missing or null.
    mutating func dueTime(orNil key: String, at pointer: String) throws -> DueTime? {
        let (zone, replaces) = (try text(orNil: "zone"), try bool(orNil: "replace"))
        guard let zone else {
            guard let time = try time(orNil: key) else {
                guard replaces == nil else {
                    throw Self.refusal("is only for an event with a time", at: "\(pointer)/replace", hint: "Add at.")
                }
                return nil
            }
            return DueTime(time, replaces: replaces ?? false)
        }
        guard let time = try text(orNil: key), time.wholeMatch(of: /\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d)?/) != nil
        else {
            throw Self.refusal(
                "is not what clocks show",
                at: "\(pointer)/\(key)",
                hint: "With a zone, write 2026-12-24T18:00, without an offset."
            )
        }
        return DueTime(time, zone: zone, replaces: replaces ?? false)
    }

    /// Returns an event's payload, or nil if it is missing or null.
    mutating func payload(orNil key: String, at pointer: String) throws -> JSONObject? {
        guard let payload = try object(orNil: key) else { return nil }
        guard payload.storedSize <= JSONObject.payloadLimit else {
            throw Self.refusal(
                "has more than \(JSONObject.payloadLimit) bytes",
                at: "\(pointer)/\(key)",
                hint: "Store large data, and send a reference to it."
            )
        }
        return payload
    }
}
