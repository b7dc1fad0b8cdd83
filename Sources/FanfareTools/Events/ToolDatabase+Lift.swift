package import FanfareCore
package import FanfareRecords
internal import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// The time after which a comparison is given up.
    private static let patience = 120

    /// Compares what the people of an event did, by rule and variant.
    ///
    /// - Parameter id: the event's id, or that of its scheduled row.
    /// - Returns: a row for each variant of each rule. The row of the holdout comes first. An event without recipients has no
    ///   rows.
    /// - Throws: ``ToolError``, also if there is no such event.
    package func lift(ofEvent id: Int64) async throws(ToolError) -> [LiftRow] {
        let event = try await eventID(of: id)
        let found = try await unhurried { connection throws(PostgresError) in try connection.run(SQL.eventLift(event)) }
        if found.isEmpty { _ = try await self.event(id) }
        return found
    }

    /// Compares what people did after a rule's pushes of some days, by variant.
    ///
    /// - Parameters:
    ///   - rule: the rule's name.
    ///   - app: its app.
    ///   - days: the number of days until now.
    /// - Returns: a row for each variant. The row of the holdout comes first.
    /// - Throws: ``ToolError``.
    package func lift(ofRule rule: String, app: String, days: Int32) async throws(ToolError) -> [LiftRow] {
        try await unhurried { connection throws(PostgresError) in try connection.run(SQL.ruleLift(app, rule, days)) }
    }

    /// Runs a query that reads many deliveries, on a connection of its own.
    private func unhurried(
        _ query: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> [LiftRow]
    ) async throws(ToolError) -> [LiftRow] {
        try await run { connection throws(PostgresError) in
            // The session's settings must not reach the next caller.
            defer { connection.close() }
            connection.allowAnswers(within: .seconds(Self.patience + 5))
            try connection.set(SessionSettings([("statement_timeout", "\(Self.patience)s"), ("jit", "off")]))
            return try query(connection)
        }
    }
}

extension LiftRow {
    /// The row as JSON.
    package var json: JSONValue {
        func figure(_ number: Double?) -> JSONValue { number.map { .number(JSONNumber(figure: $0)) } ?? .null }
        var object = JSONObject()
        object["app"] = .string(app)
        object["rule"] = .string(rule)
        object["variant"] = JSONValue(orNull: variant)
        object["people"] = JSONValue(people)
        object["not_reporting"] = JSONValue(notReporting)
        object["opened"] = JSONValue(opened)
        object["converted"] = JSONValue(orNull: converted)
        object["rate"] = figure(rate)
        object["lift"] = figure(lift)
        object["low"] = figure(low)
        object["high"] = figure(high)
        return .object(object)
    }
}
