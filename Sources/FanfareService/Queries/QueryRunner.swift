internal import FanfareCore
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Asks rules' queries whom events are for, one event at a time.
///
/// The event is locked while its query runs, on the other session: who dies meanwhile gives it back at once, and what was planned of
/// it goes with the lock. A query that fails costs its own event only, after three tries.
final class QueryRunner {
    /// What one query may take, in milliseconds.
    static let patience = 2_000
    /// How long an event waits after the first try and the second; after the third it is refused.
    static let pauses = [Micros.second, 4 * Micros.second]
    /// How long it waits after what was no fault of its query, which counts as no try.
    private static let faultPause = 5 * Micros.second

    private let context: StageContext
    private let costs: QueryCosts
    private let isForSlow: Bool
    private let author: AuthorSession
    /// The rule version that had the last turn.
    private var last: Int32 = 0

    /// Makes a runner whose session for queries is not open yet.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - costs: what the daemon knows of queries.
    ///   - isForSlow: whether it asks slow queries, or the others.
    init(context: StageContext, costs: QueryCosts, isForSlow: Bool) {
        self.context = context
        self.costs = costs
        self.isForSlow = isForSlow
        author = AuthorSession(context.database.queries(isForSlow ? "slow-users-sql" : "users-sql"))
    }

    /// Closes the session for queries.
    func close() { author.close() }

    /// How long until the next event is due, whoever has it.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Returns: in microseconds; nil if none waits.
    /// - Throws: what the database says.
    func wait(on connection: PostgresConnection) throws(PostgresError) -> Microseconds? {
        try connection.run(NextQuestion(costs.choice(isForSlow: isForSlow))).first
    }

    /// Plans the event whose turn it is.
    ///
    /// - Parameter connection: the planning session, outside a transaction.
    /// - Returns: whether there was one.
    /// - Throws: what the database says of planning, never what it says of a query.
    func takeTurn(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let choice = costs.choice(isForSlow: isForSlow)
        if isForSlow && choice.ruleVersions.isEmpty {
            // What was slow is no more.
            context.bells.queries.ring()
            return false
        }
        var taken: AudienceQuestion?
        do throws(PostgresError) {
            let turn = try connection.transaction { connection throws(PostgresError) in
                guard let question = try connection.run(LockQuestion(choice, after: last)).first else {
                    return Turn?.none
                }
                taken = question
                // Before anything can fail, so that what does stops no other rule.
                last = question.ruleVersion
                return try settle(question, on: connection)
            }
            guard let turn else { return false }
            if turn.batches > 0 { context.bells.claim.ring() }
            if let answer = turn.answer { tell(answer, of: turn) }
        } catch {
            guard let taken, error.isDataError || error.isCancelled else { throw error }
            try refuse(taken, because: error, on: connection)
        }
        return true
    }

    /// Refuses an event that cannot be planned for whom its query named: a filter on devices can be a bomb.
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

    /// What became of an event.
    private struct Turn {
        let question: AudienceQuestion
        var rule: LoadedRule?
        /// What its query said; nil if it was not run.
        var answer: Result<UsersBySQL, PostgresError>?
        var batches = 0
        /// Why the event is refused, if it is.
        var refusal: String?
    }

    private func settle(_ question: AudienceQuestion, on connection: PostgresConnection) throws(PostgresError) -> Turn {
        var turn = Turn(question: question)
        guard !question.isCancelled else {
            try end(question, as: .cancelled, nil, on: connection)
            return turn
        }
        turn.rule = try context.rules.load([question.ruleVersion], from: connection)[question.ruleVersion]
        guard let rule = turn.rule, case .usersSQL(let sql) = rule.compiled.audience else {
            // As of any rule that a newer daemon checked.
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
            _ = try connection.runReturningCount(StoreAudienceFailure(ruleVersion: rule.id, error: said))
        }
        switch answer {
        case .success(let users) where users.count == 0:
            try end(question, as: .planned, "rule \(name): to.users_sql finds no user", on: connection)
        case .success(let users):
            let statement = PlanUsers(question, users: users.array, batchSize: context.settings.batchSize)
            turn.batches = try connection.run(statement).first?.batches ?? 0
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
        if isNew { context.bells.slowQueries.ring() }
        return answer
    }

    /// Has an event whose query failed wait, or refuses it.
    ///
    /// - Returns: why it is refused; nil if it waits.
    private func putOff(
        _ question: AudienceQuestion,
        because error: PostgresError,
        ruleName: String,
        on connection: PostgresConnection
    ) throws(PostgresError) -> String? {
        guard error.isOfQuery else {
            let later = AskLater(question, pauseMicroseconds: Self.faultPause, tries: question.tries)
            _ = try connection.runReturningCount(later)
            return nil
        }
        if Int(question.tries) < Self.pauses.count {
            let pause = Self.pauses[Int(question.tries)]
            let later = AskLater(question, pauseMicroseconds: pause, tries: question.tries + 1)
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
        _ = try connection.runReturningCount(EndQuestion(question, fate: fate, detail: detail))
    }

    /// What a query failed with, for the event's detail and `health`.
    private static func words(_ error: PostgresError) -> String {
        if error.isCancelled { return "takes longer than \(patience / 1000) s" }
        return error.message + (error.sqlState.map { " (SQLSTATE \($0))" } ?? "")
    }
}

extension QueryRunner {
    /// Tells what a query failed with, or that it works, once; and of events that are refused, a few.
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
    /// Whether an author's query is at fault, and not the server or the way to it: what it lacks or does, or its time.
    ///
    /// A query that writes is refused as by a standby (25006), but of a standby the planning session would know.
    fileprivate var isOfQuery: Bool {
        if isCancelled || isReadOnly { return true }
        return code == .server && !isTransient && !["08", "57", "58", "F0", "XX"].contains(sqlState?.prefix(2))
    }
}
