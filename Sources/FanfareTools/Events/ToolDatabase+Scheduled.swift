public import FanfareCore
public import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// How many numbers the place of a scheduled event has: its time in microseconds, and its id.
    package static let placeOfScheduled = 2

    /// Returns the id of an event by its own id, or by that of its scheduled row.
    ///
    /// - Parameter id: the id.
    /// - Returns: the event's id; the given one if it is not that of a scheduled row that was emitted.
    /// - Throws: ``ToolError``.
    public func eventID(of id: Int64) async throws(ToolError) -> Int64 {
        guard ScheduledEvent.isID(id) else { return id }
        return try await rows(of: SQL.eventOf(id)).first ?? id
    }

    /// Reads one event that is scheduled.
    ///
    /// - Parameters:
    ///   - id: the id of its scheduled row.
    ///   - app: the app that it must belong to; nil for any.
    /// - Returns: the event.
    /// - Throws: ``ToolError``, also if it does not wait any more.
    public func scheduled(_ id: Int64, of app: String? = nil) async throws(ToolError) -> ScheduledEvent {
        if let found = try await rows(of: SQL.showScheduled(id, app)).first { return found }
        // Whether another app's message was emitted is not this caller's business.
        throw app == nil ? try await whyNotScheduled(id) : Self.notScheduled(id)
    }

    /// Returns the error for an id that no event has that waits.
    ///
    /// - Parameter id: the id.
    /// - Returns: the error, with the id of the event if it was emitted.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    public func whyNotScheduled(_ id: Int64) async throws(ToolError) -> ToolError {
        let event = try await eventID(of: id)
        guard event != id else { return Self.notScheduled(id) }
        return ToolError(
            .failed,
            "\(id) is not scheduled any more: it was emitted as event \(event)",
            hint: "Ask for that event.",
            isAbsence: true
        )
    }

    /// Returns the error for an id that no scheduled event has.
    package static func notScheduled(_ id: Int64) -> ToolError {
        ToolError(
            .failed,
            "no scheduled event has the id \(id)",
            hint: "It was emitted or cancelled, or the id is wrong.",
            isAbsence: true
        )
    }

    /// Reads the messages that an app has scheduled, the next first.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - after: the place to continue after; nil for the beginning.
    ///   - limit: the most messages.
    /// - Returns: a page.
    /// - Throws: ``ToolError``.
    public func scheduledMessages(
        of app: String,
        after: [Int64]?,
        limit: Int
    ) async throws(ToolError) -> FoundPage<ScheduledEvent, [Int64]> {
        let at = after.map { Timestamp(microseconds: $0[0]) }
        let found = try await rows(of: SQL.scheduledMessages(app, at, after?[1] ?? 0, Int64(limit + 1)))
        guard found.count > limit else { return FoundPage(rows: found, next: nil) }
        return FoundPage(rows: Array(found.prefix(limit)), next: found[limit - 1].place)
    }

    /// Finds events that are scheduled, the next first.
    ///
    /// - Parameters:
    ///   - type: their type; nil for all.
    ///   - app: only events of the app, or of types that its rules name; nil for all.
    ///   - user: only events in which a rule finds the user; nil for all.
    ///   - after: the place to continue after; nil for the beginning.
    ///   - limit: the most events.
    /// - Returns: a page; it may be empty although the list goes on.
    /// - Throws: ``ToolError``.
    public func scheduled(
        ofType type: String? = nil,
        app: String? = nil,
        user: String? = nil,
        after: [Int64]? = nil,
        limit: Int
    ) async throws(ToolError) -> FoundPage<ScheduledEvent, [Int64]> {
        let at = after.map { Timestamp(microseconds: $0[0]) }
        let rows = try await rows(
            of: SQL.findScheduled(type, app, user, at, after?[1] ?? 0, Int32(limit + 1), SearchBudget.events)
        )
        let found = rows.compactMap(\.found)
        guard found.count <= limit else {
            return FoundPage(rows: Array(found.prefix(limit)), next: found[limit - 1].place)
        }
        guard let stop = rows.last, stop.found == nil else { return FoundPage(rows: found, next: nil) }
        return FoundPage(rows: found, next: stop.place, isStopped: true)
    }

    /// Moves a scheduled message of an app to another time.
    ///
    /// - Parameters:
    ///   - id: the id of its scheduled row.
    ///   - app: the app.
    ///   - due: the new time.
    /// - Returns: whether the app has such a message that waits.
    /// - Throws: ``ToolError``.
    public func moveMessage(_ id: Int64, of app: String, to due: DueTime) async throws(ToolError) -> Bool {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.moveMessage(app, id, due.time, due.seconds)).first ?? false
        } action: { _ in
            ToolAction("event.reschedule", "\(id)")
        }
    }

    /// Cancels a scheduled message of an app.
    ///
    /// - Parameters:
    ///   - id: the id of its scheduled row.
    ///   - app: the app.
    /// - Returns: whether the app had such a message that waited.
    /// - Throws: ``ToolError``.
    public func cancelMessage(_ id: Int64, of app: String) async throws(ToolError) -> Bool {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.cancelMessage(app, id)).first ?? false
        } action: { _ in
            ToolAction("event.cancel", "\(id)")
        }
    }

    /// Moves a scheduled event to another time.
    ///
    /// - Parameters:
    ///   - id: the id of its scheduled row.
    ///   - due: the new time.
    ///   - payload: the new payload; nil to keep it.
    /// - Returns: whether it still waits; if not, nothing was changed.
    /// - Throws: ``ToolError``.
    public func move(_ id: Int64, to due: DueTime, payload: JSONObject? = nil) async throws(ToolError) -> Bool {
        let statement = SQL.moveScheduled(id, due.time, due.seconds, payload.map { JSONValue.object($0).text })
        return try await change { connection throws(PostgresError) in
            try connection.run(statement).first ?? false
        } action: { _ in
            ToolAction("event.reschedule", "\(id)")
        }
    }
}

extension ScheduledEvent {
    /// Returns whether an id is in the range of scheduled rows, as `fanfare.is_scheduled_id` does.
    static func isID(_ id: Int64) -> Bool { id < 1 << 43 }

    /// The event as JSON; its id is text.
    public var json: JSONValue {
        [
            "id": .string("\(id)"), "at": JSONValue(at),
            "local_time": JSONValue(orNull: wall?.replacing(" ", with: "T")),
            "type": .string(type), "key": JSONValue(orNull: key),
            "ttl_seconds": ttlSeconds.map { JSONValue($0) } ?? .null,
            "app": JSONValue(orNull: app),
        ]
    }
}
