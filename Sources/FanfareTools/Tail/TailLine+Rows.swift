internal import FanfareCore
internal import FanfareRecords
internal import PostgresClient

extension TailLine {
    /// Makes the line for an event's fate.
    init(_ row: TailEvent) {
        self.init(
            at: row.at,
            eventID: row.id,
            eventType: row.type,
            emittedAt: row.createdAt,
            traceID: row.traceID,
            subject: .event(fate: row.fate, key: row.key, detail: row.detail)
        )
    }

    /// Makes the line for a delivery's outcome; nil if the filter leaves no delivery of the batch.
    init?(_ row: TailPush) {
        guard let delivery = row.delivery else { return nil }
        self.init(
            at: row.at,
            eventID: delivery.eventID,
            eventType: row.eventType,
            emittedAt: delivery.emittedAt,
            traceID: delivery.traceID,
            subject: .push(
                Push(
                    rule: row.rule,
                    app: row.app,
                    provider: row.provider,
                    environment: row.environment,
                    deviceID: delivery.deviceID,
                    userID: delivery.userID,
                    attempt: Int64(row.attempt),
                    outcome: delivery.outcome,
                    reason: delivery.reason,
                    detail: delivery.detail,
                    batchID: row.batchID
                )
            )
        )
    }
}
