internal import Threading

/// A pool of PostgreSQL sessions for many concurrent callers.
///
/// Each session is a ``PostgresConnection`` on its own thread, opened when it is first needed. A caller hands over
/// work, suspends, and resumes with its result: no code holds a session across an `await`, and the few threads of
/// Swift's concurrency pool never block. If all sessions are busy, callers wait in a queue, first come, first served.
///
/// The work runs at most once. A session that the server ended while it was idle, as in a restart, is replaced before
/// the work begins, because only then is it certain that no part of the work was sent. If the connection is lost later,
/// the error says so, and statements in flight may or may not have taken effect; the caller decides whether to repeat
/// them.
///
/// Sessions are shared. The next caller inherits the session state that work leaves behind (SET, LISTEN, session locks,
/// temporary tables, search path): use SET LOCAL in a transaction, or close the connection before returning, and the
/// pool opens another one. A transaction that is left open is rolled back, and the caller gets an error; a notice
/// handler is removed.
///
/// While the server is unreachable, all waiting callers get the error of an attempt as soon as it has failed. Later
/// callers trigger further attempts, at growing intervals of up to a second.
public final class PostgresPool: Sendable {
    private let core: PoolCore

    /// Creates a pool; no connection is opened yet.
    ///
    /// - Parameters:
    ///   - options: where and how to connect.
    ///   - limits: the number of sessions, and the timeouts.
    public convenience init(_ options: PostgresOptions, limits: PostgresPoolOptions = PostgresPoolOptions()) {
        self.init(options, limits: limits, now: { .now }, onChange: {})
    }

    /// Creates a pool with an injected clock, so that tests need not wait.
    ///
    /// - Parameters:
    ///   - options: where and how to connect.
    ///   - limits: the number of sessions, and the timeouts.
    ///   - now: returns the time; ``clockMoved()`` reports a jump.
    ///   - onChange: called after each change of ``counts``, from many threads; must not block.
    init(
        _ options: PostgresOptions,
        limits: PostgresPoolOptions,
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        onChange: @escaping @Sendable () -> Void
    ) {
        core = PoolCore(options, limits, now: now, onChange: onChange)
    }

    deinit {
        // No caller can be waiting: idle sessions and the timer end on their own threads.
        core.close(nil)
    }

    /// The current load of the pool.
    public var counts: PostgresPoolCounts { core.counts }

    /// Runs work on a session and returns the session to the pool.
    ///
    /// If the task is cancelled while it waits for a session, `cancelled` is thrown at once, and nothing was sent. If
    /// it is cancelled while the work runs, the server is asked to cancel the statement and no further one is sent; the
    /// connection throws `cancelled` into the work. With SQLSTATE 57014 the server has confirmed: neither the statement
    /// nor its transaction took effect. Without an SQLSTATE the connection was abandoned because no confirmation came
    /// (``PostgresPoolOptions/cancelTimeout``): whether the statement, or a COMMIT, took effect is unknown, and it may
    /// still be running. A cancelled session is never used again. If the work succeeds anyway, its result is returned;
    /// work that does anything other than use its connection is not interrupted.
    ///
    /// - Parameters:
    ///   - acquireTimeout: how long to wait for a session; nil for the default of the pool's options.
    ///     `statement_timeout` limits the work itself.
    ///   - work: runs on the session's thread, which it may block, without the task's local values. Must not use the
    ///     connection after it returned, nor wait for this pool.
    /// - Returns: the result of `work`.
    /// - Throws: the error of `work`; `cancelled`, `poolTimeout` and `poolClosed` if the work was not begun; the error
    ///   of opening a session if there is none and none can be opened; `transactionLeftOpen`.
    public func run<Value: Sendable>(
        acquireTimeout: Duration? = nil,
        _ work: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> Value {
        let outcome = Locked<Result<Value, PostgresError>?>(nil)
        let ending = await lease(acquireTimeout) { connection in
            let result: Result<Value, PostgresError>
            do throws(PostgresError) {
                result = .success(try work(connection))
            } catch {
                result = .failure(error)
            }
            outcome.withLock { $0 = result }
        }
        return try Self.value(outcome, ending) { $0 }
    }

    /// Like ``run(acquireTimeout:_:)``, for work that throws errors of several types.
    ///
    /// - Parameters:
    ///   - acquireTimeout: how long to wait for a session; nil for the default of the pool's options.
    ///   - work: the work to run.
    /// - Returns: the result of `work`.
    /// - Throws: the error of `work`, and `PostgresError`.
    public func run<Value: Sendable>(
        acquireTimeout: Duration? = nil,
        throwingAny work: @escaping @Sendable (PostgresConnection) throws -> Value
    ) async throws -> Value {
        let outcome = Locked<Result<Value, any Error>?>(nil)
        let ending = await lease(acquireTimeout) { connection in
            let result = Result { try work(connection) }
            outcome.withLock { $0 = result }
        }
        return try Self.value(outcome, ending) { $0 }
    }

    /// Closes the pool: waiting callers are refused, idle sessions end, and running work may finish for a while.
    ///
    /// After ``PostgresPoolOptions/closeTimeout`` the remaining work is cancelled as in a cancelled task. Returns when
    /// all sessions and their threads have ended, except those whose work does anything other than use its connection.
    /// A cancel request, which has its own connection, may outlive the pool for as long as a connect takes.
    /// Cancellation of the task does not end the wait. May be called again, and concurrently.
    public func close() async {
        await withCheckedContinuation { core.close($0) }
        for thread in core.endingThreads() { await thread.value() }
    }

    /// Checks the deadlines again, after the clock given to the initializer has jumped.
    func clockMoved() {
        core.clockMoved()
    }

    /// Runs a job on a session's thread, or throws why no session could be leased.
    private func lease(
        _ acquireTimeout: Duration?,
        _ work: @escaping @Sendable (PostgresConnection) -> Void
    ) async -> Result<Void, PostgresError> {
        let job = PoolJob(acquireTimeout: acquireTimeout ?? core.limits.acquireTimeout, work)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                job.await(by: continuation)
                core.submit(job)
            }
        } onCancel: {
            core.cancel(job)
        }
    }

    private static func value<Value: Sendable, Failure: Error>(
        _ outcome: Locked<Result<Value, Failure>?>,
        _ ending: Result<Void, PostgresError>,
        _ asFailure: (PostgresError) -> Failure
    ) throws(Failure) -> Value {
        let result = outcome.withLock { $0 }
        // The work's own error explains more than the error about the state it left behind.
        if case .failure(let error) = result { throw error }
        if case .failure(let error) = ending { throw asFailure(error) }
        guard let result else { preconditionFailure("work ended without an outcome") }
        return try result.get()
    }
}

/// The load of a pool at one moment.
public struct PostgresPoolCounts: Sendable, Hashable {
    /// All sessions, including those being opened or closed.
    public let sessions: Int
    /// Sessions leased to callers.
    public let leased: Int
    /// Callers that wait for a session.
    public let waiting: Int
}
