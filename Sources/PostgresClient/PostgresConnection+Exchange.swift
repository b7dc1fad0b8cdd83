internal import CPostgres

/// The only code that sends commands to the server, waits for the answers and checks them.
extension PostgresConnection {
    /// Sends one command and collects its answer.
    ///
    /// - Parameters:
    ///   - statement: the prepared statement's name, for errors.
    ///   - send: calls one of libpq's `PQsend…` functions and returns its status.
    /// - Returns: the last result; those of earlier statements are dropped.
    /// - Throws: the first error of the answer; `connectionLost`, `cancelled`.
    func exchange(
        statement: String? = nil,
        _ send: (OpaquePointer) -> Int32
    ) throws(PostgresError) -> PostgresResult {
        let handle = try unsafe requireHandleToAsk()
        guard unsafe send(handle) == 1 else { throw unsafe refusal(handle, statement: statement) }
        watch.asked()
        defer { watch.answered() }
        let deadline = answerLimit.map { ContinuousClock.now + $0 }
        try unsafe flush(handle, deadline)
        let answer = try unsafe collect(handle, statement: statement, deadline)
        if let failure = answer.failure { throw unsafe asLost(failure, handle) }
        guard let last = answer.last else { throw unsafe refusal(handle, statement: statement) }
        return last
    }

    /// Sends two prepared statements at once and collects both answers: one round trip instead of two.
    ///
    /// - Parameters:
    ///   - statements: their names, for errors.
    ///   - send: calls `PQsendQueryPrepared` for each and returns 1 if libpq accepted both.
    /// - Returns: both results.
    /// - Throws: the first error of the answers, after which the second statement was not run; `connectionLost`,
    ///   `cancelled`.
    func exchangePair(
        statements: (String, String),
        _ send: (OpaquePointer) -> Int32
    ) throws(PostgresError) -> PostgresResultPair {
        let handle = try unsafe requireHandleToAsk()
        guard unsafe PQenterPipelineMode(handle) == 1, unsafe send(handle) == 1, unsafe PQpipelineSync(handle) == 1
        else {
            // Commands that libpq has queued cannot be withdrawn.
            let failure = unsafe refusal(handle, statement: statements.0)
            close()
            throw failure
        }
        watch.asked()
        defer { watch.answered() }
        let deadline = answerLimit.map { ContinuousClock.now + $0 }
        try unsafe flush(handle, deadline)
        let first = try unsafe collect(handle, statement: statements.0, deadline)
        let second = try unsafe collect(handle, statement: statements.1, deadline)
        try unsafe awaitResult(handle, deadline)
        // The result that ends the pipeline; an error in it was reported before.
        if let end = unsafe PQgetResult(handle) { _ = unsafe PostgresResult(owning: end) }
        let isOver = unsafe PQexitPipelineMode(handle) == 1
        if let failure = first.failure ?? second.failure { throw unsafe asLost(failure, handle) }
        guard isOver, let one = first.last, let two = second.last else {
            let failure = unsafe refusal(handle, statement: statements.0)
            close()
            throw failure
        }
        return PostgresResultPair(first: one, second: two)
    }

    /// Returns the handle, unless further statements are refused.
    private func requireHandleToAsk() throws(PostgresError) -> OpaquePointer {
        guard !watch.isRefusing else {
            throw PostgresError(.cancelled, message: "cancelled before the statement was sent")
        }
        if let timeline, let timelines = options.timelines, timelines.isBehind(timeline) {
            close()
            throw PostgresError(.connectionLost, message: "\(timeline), and another session is on a higher one")
        }
        return try unsafe requireHandle()
    }

    /// The results of one command.
    private struct Answer: ~Copyable {
        var last: PostgresResult?
        var failure: PostgresError?
    }

    /// Collects the results of one command and keeps the last.
    private func collect(
        _ handle: OpaquePointer,
        statement: String?,
        _ deadline: ContinuousClock.Instant?
    ) throws(PostgresError) -> Answer {
        var answer = Answer()
        while true {
            try unsafe awaitResult(handle, deadline)
            guard let pointer = unsafe PQgetResult(handle) else { return answer }
            let result = unsafe PostgresResult(owning: pointer)
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
                answer.last = consume result
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH:
                // libpq would return this result again and again.
                close()
                throw PostgresError(.protocolMismatch, message: "COPY is not supported", statement: statement)
            default:
                answer.failure = answer.failure ?? error(of: result, statement: statement)
            }
        }
    }

    /// Turns the error into `connectionLost` if the connection is broken: a server that ends a session sends an error
    /// first.
    private func asLost(_ failure: PostgresError, _ handle: OpaquePointer) -> PostgresError {
        unsafe PQstatus(handle) == CONNECTION_BAD ? failure.asConnectionLost : failure
    }

    private func flush(_ handle: OpaquePointer, _ deadline: ContinuousClock.Instant?) throws(PostgresError) {
        while unsafe PQflush(handle) == 1 {
            // The server may have to send data before it can receive more.
            try unsafe wait(handle, writing: true, deadline)
            guard unsafe PQconsumeInput(handle) == 1 else { return }
        }
    }

    /// Waits until `PQgetResult` does not block; also on a broken connection, where it then returns the error.
    private func awaitResult(_ handle: OpaquePointer, _ deadline: ContinuousClock.Instant?) throws(PostgresError) {
        while unsafe PQisBusy(handle) == 1 {
            try unsafe wait(handle, writing: false, deadline)
            guard unsafe PQconsumeInput(handle) == 1 else { return }
        }
    }

    private func wait(
        _ handle: OpaquePointer,
        writing: Bool,
        _ deadline: ContinuousClock.Instant?
    ) throws(PostgresError) {
        let wait = SocketWait(socket: unsafe PQsocket(handle), abandon: abandonment, deadline: deadline)
        switch wait(writing: writing) {
        case .ready, .woken: return
        case .abandoned:
            close()
            throw PostgresError(.cancelled, message: "the connection was given up while a statement ran")
        case .timedOut:
            close()
            var silence = PostgresError(
                .connectionLost,
                message: "the server did not answer within \(answerLimit ?? .zero)"
            )
            silence.isUnanswered = true
            throw silence
        }
    }

    private func error(of result: borrowing PostgresResult, statement: String?) -> PostgresError {
        let sqlState = result.errorField(.sqlState)
        var error = PostgresError(
            // An error without an SQLSTATE comes from libpq itself; if the connection broke, the caller says so.
            sqlState == nil ? .protocolMismatch : sqlState == "57014" ? .cancelled : .server,
            sqlState: sqlState,
            message: result.errorField(.message) ?? result.errorMessage.singleLine,
            hint: result.errorField(.hint),
            detail: result.errorField(.detail),
            constraint: result.errorField(.constraint),
            statement: statement
        )
        let position = result.errorField(.position).map { "at character \($0)" }
        error.context = [position, result.errorField(.context)].compactMap(\.self).joined(separator: "; ").singleLine
        return error
    }

    /// Returns the error for a command that libpq did not send or for which it has no answer.
    private func refusal(_ handle: OpaquePointer, statement: String?) -> PostgresError {
        guard unsafe PQstatus(handle) != CONNECTION_BAD else { return unsafe lost(handle) }
        let message = unsafe String(serverText: PQerrorMessage(handle)).singleLine
        return PostgresError(.protocolMismatch, message: "libpq: " + message, statement: statement)
    }
}

extension PostgresError {
    fileprivate var asConnectionLost: PostgresError {
        var copy = self
        copy.code = .connectionLost
        return copy
    }
}
