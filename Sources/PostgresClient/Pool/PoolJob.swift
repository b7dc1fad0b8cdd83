internal import Threading

/// One caller's work, from the call to its end.
final class PoolJob: Sendable {
    /// What is known of the caller; guarded by the lock, which is taken inside the pool's.
    struct Standing: Sendable {
        /// Its id at the state machine, once it has asked.
        var request: PoolStateMachine.RequestID?
        /// Whether its task was cancelled.
        var isCancelled = false
    }

    let standing = Locked(Standing())
    /// How long it waits for a session; nil for ever.
    let acquireTimeout: Duration?
    /// Does the work on a session's thread, and keeps its outcome.
    let perform: @Sendable (PostgresConnection) -> Void
    /// Where the caller waits.
    private let caller = Locked<CheckedContinuation<Result<Void, PostgresError>, Never>?>(nil)

    init(acquireTimeout: Duration?, _ perform: @escaping @Sendable (PostgresConnection) -> Void) {
        self.acquireTimeout = acquireTimeout
        self.perform = perform
    }

    /// The caller begins to wait.
    func await(by continuation: CheckedContinuation<Result<Void, PostgresError>, Never>) {
        caller.withLock { $0 = continuation }
    }

    /// Lets the caller go on; only the first time counts.
    ///
    /// - Parameter result: success if the work was done, whatever its outcome.
    func end(_ result: Result<Void, PostgresError>) {
        let continuation = caller.withLock { caller in
            defer { caller = nil }
            return caller
        }
        continuation?.resume(returning: result)
    }
}
