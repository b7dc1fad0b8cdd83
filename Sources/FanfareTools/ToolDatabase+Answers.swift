internal import FanfareCore
package import FanfareStore
internal import PostgresClient

/// What providers answered over some time.
package struct AnswerFigures: Sendable {
    /// By target and reason, over all of the time.
    package let answers: [AnswersByReason.Row]
    /// The same of the last minutes alone.
    package let recent: [AnswersByReason.Row]
    /// The same of the last minute.
    package let newest: [AnswersByReason.Row]
    /// By step, outcome and reason.
    package let outcomes: [OutcomesOverTime.Row]
    /// How long accepted pushes took since their events' emit: the code is the number of the class.
    package let times: [CountsOverTime.Row]
    /// What outcomes mean.
    package let meanings: [OutcomeMeanings.Row]
}

extension ToolDatabase {
    /// Reads what providers answered.
    ///
    /// - Parameters:
    ///   - since: when it begins, in microseconds since 1970.
    ///   - recent: when the last minutes begin, in microseconds since 1970.
    ///   - newest: when the last minute begins, in microseconds since 1970.
    ///   - stepSeconds: how long a step is.
    ///   - app: of which app's pushes; nil for all.
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
                answers: try connection.run(AnswersByReason(since: since, app: app)),
                recent: try connection.run(AnswersByReason(since: recent, app: app)),
                newest: try connection.run(AnswersByReason(since: newest, app: app)),
                outcomes: try connection.run(OutcomesOverTime(since: since, stepSeconds: stepSeconds, app: app)),
                times: try connection.run(CountsOverTime(.latency, since: since, stepSeconds: stepSeconds, app: app)),
                meanings: try connection.run(OutcomeMeanings())
            )
        }
    }
}
