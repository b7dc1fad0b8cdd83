package import PostgresClient

/// Reads the outcomes of an event, by batch and device; also for events with millions of deliveries.
package struct EventPushes: PostgresStatement {
    package static let name = "event_pushes"
    package static let sql = """
        SELECT p.batch_id, $1::bigint, p.device_id, v.event_type, p.app, p.rule, p.rule_version, p.provider, p.environment, p.user_id,
            p.attempt, p.outcome, p.reason, p.at, p.detail
        FROM fanfare.event_pushes($1, $2, $3, $4, $5, $6, $7) AS p
        CROSS JOIN (SELECT (SELECT e.type FROM fanfare.events AS e WHERE e.id = $1) AS event_type) AS v
        ORDER BY p.batch_id, p.device_id NULLS LAST
        """

    package let event: Int64
    /// The place after which the list continues; nil for its start.
    package let after: DeliveryRow.Place?
    package let outcome: String?
    package let reason: String?
    package let limit: Int32
    /// The most batches read.
    package let budget: Int32

    package init(
        event: Int64,
        after: DeliveryRow.Place?,
        outcome: String? = nil,
        reason: String? = nil,
        limit: Int32,
        budget: Int32 = SearchBudget.batches
    ) {
        (self.event, self.after, self.outcome, self.reason) = (event, after, outcome, reason)
        (self.limit, self.budget) = (limit, budget)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(event)
        binds.append(after?.batch ?? 0)
        binds.append(after?.device ?? 0)
        binds.append(outcome)
        binds.append(reason)
        binds.append(limit)
        binds.append(budget)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> SearchRow<DeliveryRow> {
        guard try row.int64(orNil: 2) != nil else {
            // After all devices of the batch.
            return .stopped(.init(place: try row.int64(0), at: nil))
        }
        return .found(try DeliveryRow.decode(row))
    }
}

extension SQL {
    /// Reads the pushes to a user's devices, the newest batches first, waiting ones before all.
    ///
    /// Binds: user, app, before, limit, budget.
    package static let userPushes = Statement<SearchRow<DeliveryRow>, String, String?, Int64?, Int32, Int32>(
        "user_pushes",
        """
        SELECT batch_id, event_id, device_id, event_type, app, rule, rule_version, provider, environment, $1, attempt, outcome, reason, at,
            detail
        FROM fanfare.user_pushes($1, $2, $3, $4, $5)
        """
    ) { row throws(PostgresError) in
        guard try row.int64(orNil: 1) != nil else {
            return .stopped(.init(place: try row.int64(0), at: try row.timestamp(orNil: 13)))
        }
        return .found(try DeliveryRow.decode(row))
    }
}
