internal import FanfareCore
package import FanfareRecords
package import FanfareStore
internal import PostgresClient

/// The providers' answers over a period.
package struct AnswerFigures: Sendable {
    /// The answers of the whole period, by target and reason.
    package let answers: [AnswersByReasonRow]
    /// The answers of the last minutes.
    package let recent: [AnswersByReasonRow]
    /// The answers of the last minute.
    package let newest: [AnswersByReasonRow]
    /// The outcomes by step, outcome and reason.
    package let outcomes: [OutcomesOverTimeRow]
    /// The time from an event's emit to the provider's acceptance of its pushes; the code is the number of the
    /// histogram bucket.
    package let times: [CountsOverTimeRow]
    /// The meanings of the outcomes.
    package let meanings: [OutcomeMeaningsRow]
}

extension ToolDatabase {
    /// Reads the providers' answers.
    ///
    /// - Parameters:
    ///   - since: the start of the period, in microseconds since 1970.
    ///   - recent: the start of the last minutes, in microseconds since 1970.
    ///   - newest: the start of the last minute, in microseconds since 1970.
    ///   - stepSeconds: the length of a step.
    ///   - app: the app whose pushes are counted; nil for all.
    /// - Returns: the figures.
    /// - Throws: ``ToolError``.
    package func answers(
        since: Int64,
        recent: Int64,
        newest: Int64,
        stepSeconds: Int32,
        app: String?
    ) async throws(ToolError) -> AnswerFigures {
        let (since, recent) = (Timestamp(microseconds: since), Timestamp(microseconds: recent))
        let newest = Timestamp(microseconds: newest)
        return try await run { connection throws(PostgresError) in
            AnswerFigures(
                answers: try connection.run(SQL.answersByReason(since, app)),
                recent: try connection.run(SQL.answersByReason(recent, app)),
                newest: try connection.run(SQL.answersByReason(newest, app)),
                outcomes: try connection.run(SQL.outcomesOverTime(since, stepSeconds, app)),
                times: try connection.run(SQL.countsOverTime(TrafficKind.latency.rawValue, since, stepSeconds, app)),
                meanings: try connection.run(SQL.outcomeMeanings())
            )
        }
    }
}
