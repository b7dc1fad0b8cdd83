internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Runs rules' queries for the audience of events, one event at a time.
///
/// The event is locked while its query runs on the other session. If the daemon dies meanwhile, the lock ends at once
/// and the planning is rolled back. A failing query affects only its own event, which is refused after three attempts.
final class QueryRunner {
    /// The time limit of one query, in milliseconds.
    static let patience = 2_000
    /// The delays after the first and the second attempt; after the third the event is refused.
    static let pauses = [Micros.second, 4 * Micros.second]
    /// The delay after an error that the query did not cause, which does not count as an attempt.
    private static let faultPause = 5 * Micros.second

    private let context: StageContext
    private let bells: StageBells
    private let rules: RuleCache
    private let costs: QueryCosts
    private let isForSlow: Bool
    private let author: AuthorSession
    /// The rule version of the last turn.
    private var last: Int32 = 0

    /// Creates a runner; its session for queries is not open yet.
    ///
    /// - Parameters:
    ///   - context: what every stage needs.
    ///   - bells: the bells of both stages, and of the claimer.
    ///   - rules: the known rules.
    ///   - costs: the daemon's record of queries.
    ///   - isForSlow: whether it runs the slow queries, or the others.
    init(context: StageContext, bells: StageBells, rules: RuleCache, costs: QueryCosts, isForSlow: Bool) {
        (self.context, self.bells, self.rules) = (context, bells, rules)
        (self.costs, self.isForSlow) = (costs, isForSlow)
        author = AuthorSession(context.database.queries(isForSlow ? "slow-users-sql" : "users-sql"))
    }

    /// Closes the session for queries.
    func close() { author.close() }

    /// Returns the time until the next event is due, even if another daemon has it.
    ///
    /// - Parameter connection: a connection outside a transaction.
    /// - Returns: the time in microseconds; nil if no event waits.
    /// - Throws: errors of the server.
    func wait(on connection: PostgresConnection) throws(PostgresError) -> Microseconds? {
        try connection.run(SQL.nextQuestion(costs.choice(isForSlow: isForSlow))).first
    }

    /// Plans the next event in turn.
    ///
    /// - Parameter connection: the planning session, outside a transaction.
    /// - Returns: whether there was an event.
    /// - Throws: errors of planning, never those of a query.
    func takeTurn(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let choice = costs.choice(isForSlow: isForSlow)
        if isForSlow && choice.ruleVersions.isEmpty {
            // No query is slow any more, so the other stage takes the events.
            bells.queries.ring()
            return false
        }
        var taken: AudienceQuestion?
        do throws(PostgresError) {
            let turn = try connection.transaction { connection throws(PostgresError) in
                guard let question = try connection.run(SQL.lockQuestion(choice, last)).first else {
                    return Turn?.none
                }
                taken = question
                // Set before anything can fail, so that a failing rule does not block the others.
                last = question.ruleVersion
                return try settle(question, on: connection)
            }
            guard let turn else { return false }
            if turn.batches > 0 { bells.claim.ring() }
            if let answer = turn.answer { tell(answer, of: turn) }
        } catch {
            guard let taken, error.isDataError || error.isCancelled else { throw error }
            try refuse(taken, because: error, on: connection)
        }
        return true
    }

    /// Refuses an event that cannot be planned for the users of its query, for example because a filter on devices
    /// takes forever.
    private func refuse(
        _ question: AudienceQuestion,
        because error: PostgresError,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let detail = "cannot be planned: SQLSTATE \(error.sqlState ?? "?"), \(error.message)"
        try end(question, as: .refused, detail, on: connection)
        context.logger.error(
            "an event was refused: planning it failed",
            metadata: .about(question.eventID, ofTrace: question.traceID, [.error: "\(error)"])
        )
    }

    /// The result of one turn.
    private struct Turn {
        let question: AudienceQuestion
        var rule: LoadedRule?
        /// The result of its query; nil if it was not run.
        var answer: Result<UsersBySQL, PostgresError>?
        var batches = 0
        /// The reason why the event is refused; nil if it is not.
        var refusal: String?
    }

    private func settle(_ question: AudienceQuestion, on connection: PostgresConnection) throws(PostgresError) -> Turn {
        var turn = Turn(question: question)
        guard !question.isCancelled else {
            try end(question, as: .cancelled, nil, on: connection)
            return turn
        }
        turn.rule = try rules.load([question.ruleVersion], from: connection)[question.ruleVersion]
        guard let rule = turn.rule, case .usersSQL(let sql) = rule.compiled.audience else {
            // The same happens for any rule that a newer daemon checked.
            let detail = "rule version \(question.ruleVersion): the daemon that planned this event is too old for it"
            try end(question, as: .refused, detail, on: connection)
            return turn
        }
        let name = rule.compiled.definition.name
        guard question.isLive else {
            try end(question, as: .expired, "rule \(name): its ttl was over before users_sql answered", on: connection)
            return turn
        }
        let answer = ask(sql, question)
        turn.answer = answer
        let said = answer.failure.map { Self.words($0) }
        if costs.isNews(said, ruleVersion: rule.id) {
            _ = try connection.runReturningCount(SQL.storeAudienceFailure(rule.id, said))
        }
        switch answer {
        case .success(let users) where users.count == 0:
            try end(question, as: .planned, "rule \(name): to.users_sql finds no user", on: connection)
        case .success(let users):
            let statement = SQL.planUsers(
                question.eventID,
                question.ruleVersion,
                users.array,
                Int32(context.settings.batchSize)
            )
            turn.batches = try connection.run(statement).first?.batches ?? 0
            try connection.run(SQL.divideByZone(question.eventID, Int32(context.settings.batchSize)))
        case .failure(let error):
            turn.refusal = try putOff(question, because: error, ruleName: name, on: connection)
        }
        return turn
    }

    private func ask(_ sql: String, _ question: AudienceQuestion) -> Result<UsersBySQL, PostgresError> {
        let start = Clocks.steady
        let answer = Result { () throws(PostgresError) in
            try author.run { connection throws(PostgresError) in
                try connection.usersBySQL(sql, payload: question.payload, within: Self.patience)
            }
        }
        let isNew = costs.took(Clocks.steady - start, ruleVersion: question.ruleVersion)
        if isNew { bells.slowQueries.ring() }
        return answer
    }

    /// Delays an event whose query failed, or refuses it.
    ///
    /// - Returns: the reason if it is refused; nil if it waits.
    private func putOff(
        _ question: AudienceQuestion,
        because error: PostgresError,
        ruleName: String,
        on connection: PostgresConnection
    ) throws(PostgresError) -> String? {
        guard error.isOfQuery else {
            let later = SQL.askLater(question.eventID, question.ruleVersion, Self.faultPause, question.tries)
            _ = try connection.runReturningCount(later)
            return nil
        }
        if Int(question.tries) < Self.pauses.count {
            let pause = Self.pauses[Int(question.tries)]
            let later = SQL.askLater(question.eventID, question.ruleVersion, pause, question.tries + 1)
            _ = try connection.runReturningCount(later)
            return nil
        }
        let detail = "rule \(ruleName): to.users_sql \(Self.words(error))"
        try end(question, as: .refused, detail, on: connection)
        return detail
    }

    private func end(
        _ question: AudienceQuestion,
        as fate: EventFate,
        _ detail: String?,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        _ = try connection.runReturningCount(
            SQL.endQuestion(question.eventID, question.ruleVersion, Int16(fate.rawValue), detail)
        )
    }

    /// Returns the text of a query's failure, for the event's detail and `health`.
    private static func words(_ error: PostgresError) -> String {
        if error.isCancelled { return "takes longer than \(patience / 1000) s" }
        return error.message + (error.sqlState.map { " (SQLSTATE \($0))" } ?? "")
    }
}

extension QueryRunner {
    /// Logs a new failure of a query, or that it works again; the lines about refused events are limited.
    private func tell(_ answer: Result<UsersBySQL, PostgresError>, of turn: Turn) {
        guard let rule = turn.rule else { return }
        let said = answer.failure.map { Self.words($0) }
        let isNews = costs.isNews(said, ruleVersion: rule.id)
        let wasFailing = costs.note(said, ruleVersion: rule.id)
        let definition = rule.compiled.definition
        var metadata = Logger.Metadata([
            .app: "\(definition.app)", .ruleName: "\(definition.name)", .ruleVersion: "\(rule.version)",
        ])
        guard let error = answer.failure else {
            if wasFailing { context.logger.notice("users_sql works again", metadata: metadata) }
            return
        }
        metadata[.eventID] = "\(turn.question.eventID)"
        metadata[.traceID] = turn.question.traceID.map { "\($0)" }
        metadata[.error] = "\(error)"
        metadata[.sqlState] = error.sqlState.map { "\($0)" }
        if isNews {
            context.logger.warning("users_sql failed; events are refused after three failures", metadata: metadata)
        }
        guard turn.refusal != nil else { return }
        let message: Logger.Message = "an event was refused: its rule's users_sql failed three times"
        let kind = LineKind(
            level: .error,
            message: message.description,
            app: definition.app,
            provider: "",
            rule: definition.name,
            reason: error.sqlState ?? ""
        )
        if context.frequentLines.admit(kind) { context.logger.error(message, metadata: metadata) }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension PostgresError {
    /// Whether the error is caused by the author's query (its permissions, statements or duration) rather than by the
    /// server or the connection.
    ///
    /// A query that writes fails like a write on a standby (25006), but the planning session would notice a standby.
    fileprivate var isOfQuery: Bool {
        if isCancelled || isReadOnly { return true }
        return code == .server && !isTransient && !["08", "57", "58", "F0", "XX"].contains(sqlState?.prefix(2))
    }
}
