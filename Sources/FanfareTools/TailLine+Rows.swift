internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

extension TailLine {
    /// Tells what became of an event.
    init(_ row: TailEvents.Row) {
        self.init(
            at: row.at,
            eventID: row.id,
            eventType: row.type,
            emittedAt: row.createdAt,
            traceID: row.traceID,
            subject: .event(fate: row.fate, key: row.key, detail: row.detail)
        )
    }

    /// Tells what became of a pair; nil for a batch of which the filter leaves none.
    init?(_ row: TailPushes.Row) {
        guard let pair = row.pair else { return nil }
        self.init(
            at: row.at,
            eventID: pair.eventID,
            eventType: row.eventType,
            emittedAt: pair.emittedAt,
            traceID: pair.traceID,
            subject: .push(
                Push(
                    rule: row.rule,
                    app: row.app,
                    provider: row.provider,
                    environment: row.environment,
                    deviceID: pair.deviceID,
                    userID: pair.userID,
                    attempt: Int64(row.attempt),
                    outcome: pair.outcome,
                    reason: pair.reason,
                    detail: pair.detail,
                    batchID: row.batchID
                )
            )
        )
    }
}
