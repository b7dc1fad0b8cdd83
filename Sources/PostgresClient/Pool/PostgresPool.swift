internal import Threading

/// A few sessions of PostgreSQL for many concurrent callers.
///
/// Each session is a ``PostgresConnection`` on a thread of its own, opened when it is first needed. A caller hands over
/// work, suspends, and goes on with its result: no code holds a session across an `await`, and Swift's few threads
/// never block. Who finds all sessions at work waits in line; the line is served in the order of coming.
///
/// The work is run at most once. A session that the server ended while it was idle, as in a restart, is replaced before the
/// work begins, since only then it is certain that nothing of it was sent. If the connection is lost later,
/// the error says so, and what was in flight may or may not have taken effect; whether to repeat it the caller knows.
///
/// Sessions are shared. What work leaves behind in one (settings by SET, LISTEN, session locks, temporary tables, its
/// search path) the next caller finds: use SET LOCAL in a transaction, or close the connection before returning, and the
/// pool opens another one. A transaction that is left open is rolled back, and the caller told; a handler of notices is forgotten.
///
/// While the server is away, all that wait are told why as soon as an attempt has failed. Further attempts come at growing
/// intervals of up to a second, for whoever asks then.
public final class PostgresPool: Sendable {
    private let core: PoolCore

    /// Makes a pool; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - options: where and how to connect.
    ///   - limits: how many sessions there are, and how long everybody waits.
    public convenience init(_ options: PostgresOptions, limits: PostgresPoolOptions = PostgresPoolOptions()) {
        self.init(options, limits: limits, now: { .now }, onChange: {})
    }

    /// Makes a pool whose time is somebody else's: tests need not wait.
    ///
    /// - Parameters:
    ///   - options: where and how to connect.
    ///   - limits: how many sessions there are, and how long everybody waits.
    ///   - now: the time; ``clockMoved()`` says that it jumped.
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
        // Nobody can be waiting: idle sessions and the timer end on their own threads.
        core.close(nil)
    }

    /// How busy the pool is.
    public var counts: PostgresPoolCounts { core.counts }

    /// Runs work on a session, and gives the session back.
    ///
    /// If the task is cancelled while it waits, it throws `cancelled` at once, and nothing was sent. While the work runs,
    /// the server is asked to cancel the statement and no further one is sent; the work sees `cancelled` thrown by the
    /// connection, with SQLSTATE 57014 if the server confirms: then neither the statement nor its transaction
    /// took effect. Without SQLSTATE the session was cut off because no confirmation came (``PostgresPoolOptions/cancelTimeout``):
    /// whether the statement took effect, a COMMIT too, is unknown, and it may still run. A cancelled session is
    /// never used again. Work that succeeds all the same has its result returned; work that does something else than to use its connection is not interrupted.
    ///
    /// - Parameters:
    ///   - acquireTimeout: how long to wait for a session; nil for what the pool's options say. How long the work may take
    ///     is for `statement_timeout` to limit.
    ///   - work: what to do; runs on the session's thread, which it may block, without the task's local values. Must not use
    ///     the connection after it returned, nor wait for this pool.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws; `cancelled`, `poolTimeout` and `poolClosed` if it was not begun; what opening a session
    ///   throws if there is none and none can be opened; `transactionLeftOpen`.
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
    ///   - acquireTimeout: how long to wait for a session; nil for what the pool's options say.
    ///   - work: what to do.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws, and `PostgresError`.
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

    /// Closes the pool: who waits is refused, idle sessions end, work that runs may end by itself for a while.
    ///
    /// After ``PostgresPoolOptions/closeTimeout`` what still runs is cancelled like in a cancelled task. Returns when all sessions and
    /// their threads have ended, or, if some work does something else than to use its connection, without that one's. A request to
    /// cancel, which has a connection of its own, may outlive it for as long as a connect takes. Not
    /// ended by cancellation of the task. May be called again, and at the same time.
    public func close() async {
        await withCheckedContinuation { core.close($0) }
        for thread in core.endingThreads() { await thread.value() }
    }

    /// Has deadlines looked at again, after the clock given to the initializer has jumped.
    func clockMoved() {
        core.clockMoved()
    }

    /// Has work done by a session's thread, unless that cannot be.
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
        // The work's own error tells more than that of what it left behind.
        if case .failure(let error) = result { throw error }
        if case .failure(let error) = ending { throw asFailure(error) }
        guard let result else { preconditionFailure("work ended without an outcome") }
        return try result.get()
    }
}

/// How busy a pool is, at one moment.
public struct PostgresPoolCounts: Sendable, Hashable {
    /// Sessions, those being opened or closed included.
    public let sessions: Int
    /// Sessions that callers have.
    public let leased: Int
    /// Callers that wait.
    public let waiting: Int
}
