internal import Threading

/// The work of one caller, from the call to its end.
final class PoolJob: Sendable {
    /// The state of the caller, guarded by a lock that is taken inside the pool's lock.
    struct Standing: Sendable {
        /// The request id in the state machine, once the caller has asked for a session.
        var request: PoolStateMachine.RequestID?
        /// Whether the caller's task was cancelled.
        var isCancelled = false
    }

    let standing = Locked(Standing())
    /// How long the caller waits for a session; nil for no limit.
    let acquireTimeout: Duration?
    /// Runs the work on a session's thread and keeps its result.
    let perform: @Sendable (PostgresConnection) -> Void
    /// The continuation on which the caller waits.
    private let caller = Locked<CheckedContinuation<Result<Void, PostgresError>, Never>?>(nil)

    init(acquireTimeout: Duration?, _ perform: @escaping @Sendable (PostgresConnection) -> Void) {
        self.acquireTimeout = acquireTimeout
        self.perform = perform
    }

    /// Stores the continuation of the waiting caller.
    func await(by continuation: CheckedContinuation<Result<Void, PostgresError>, Never>) {
        caller.withLock { $0 = continuation }
    }

    /// Resumes the caller; only the first call has an effect.
    ///
    /// - Parameter result: success if the work ran, even if the work itself failed.
    func end(_ result: Result<Void, PostgresError>) {
        let continuation = caller.withLock { caller in
            defer { caller = nil }
            return caller
        }
        continuation?.resume(returning: result)
    }
}
