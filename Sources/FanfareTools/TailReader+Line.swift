internal import FanfareCore
internal import FanfareStore
internal import PostgresClient

extension TailReader {
    /// Reads one row of ``sql(partition:)``; nil where it has another shape.
    func line(_ row: [String?]) -> TailLine? {
        func number(_ index: Int) -> Int64? { row[index].flatMap { Int64($0) } }
        guard row.count >= 10, let at = number(2), let eventID = number(3) else { return nil }
        let emittedAt = number(4).map { Timestamp(microseconds: $0) }
        let subject: TailLine.Subject
        switch self {
        case .events: subject = .event(fate: row[6] ?? "", key: row[7], detail: row[8])
        case .pushes:
            guard row.count == 17, let batchID = number(0), let deviceID = number(10), let attempt = number(12) else {
                return nil
            }
            subject = .push(
                TailLine.Push(
                    rule: row[6] ?? "",
                    app: row[7] ?? "",
                    platform: row[8] ?? "",
                    environment: row[9] ?? "",
                    deviceID: deviceID,
                    userID: row[11],
                    attempt: attempt,
                    outcome: row[13] ?? "",
                    reason: row[14] ?? "",
                    detail: row[15],
                    batchID: batchID
                )
            )
        }
        return TailLine(
            at: Timestamp(microseconds: at),
            eventID: eventID,
            eventType: row[5] ?? "",
            emittedAt: emittedAt,
            traceID: row[row.count - 1],
            subject: subject
        )
    }
}
