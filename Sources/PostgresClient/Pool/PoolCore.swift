internal import Threading

/// The state shared by a pool's threads: passes events to the state machine and performs the actions it returns.
///
/// Lives until its last thread has ended, even if the pool itself has been released.
final class PoolCore: Sendable {
    /// The values that the lock guards.
    struct State: Sendable {
        var machine: PoolStateMachine
        var sessions: [PoolStateMachine.SessionID: PoolSession] = [:]
        /// Jobs of callers that wait for a session, and jobs that are queued for their session's thread.
        var jobs: [PoolStateMachine.RequestID: PoolJob] = [:]
        /// The error of the last failed attempt to open a session; nil after a success.
        var lastFailure: PostgresError?
        /// The callers that wait for the pool to close.
        var closers: [CheckedContinuation<Void, Never>] = []
        /// Session threads that may still be running.
        var threads: [WorkerThread] = []
        var timer: PoolTimer?
        /// When the timer will wake; nil means that it sleeps until it is nudged.
        var timerWakesAt: PoolStateMachine.Instant?
    }

    /// Work that runs after the lock is released, because it calls code outside the pool.
    struct Aftermath: Sendable {
        var ended: [(job: PoolJob, error: PostgresError)] = []
        var closers: [CheckedContinuation<Void, Never>] = []
        /// Sessions for which no thread could be started.
        var unopened: [PoolStateMachine.SessionID] = []
    }

    let options: PostgresOptions
    let limits: PostgresPoolOptions
    private let now: @Sendable () -> PoolStateMachine.Instant
    private let onChange: @Sendable () -> Void
    private let state: Locked<State>

    init(
        _ options: PostgresOptions,
        _ limits: PostgresPoolOptions,
        now: @escaping @Sendable () -> PoolStateMachine.Instant,
        onChange: @escaping @Sendable () -> Void
    ) {
        self.options = options
        self.limits = limits
        self.now = now
        self.onChange = onChange
        state = Locked(State(machine: PoolStateMachine(limits)))
    }

    /// The current numbers of sessions and callers.
    var counts: PostgresPoolCounts {
        state.withLock { state in
            PostgresPoolCounts(
                sessions: state.machine.sessions.count,
                leased: state.machine.leases.count,
                waiting: state.machine.waiting.count
            )
        }
    }

    /// Passes an event to the state machine and performs the actions it returns.
    private func handle(_ event: (inout State, PoolStateMachine.Instant) -> [PoolStateMachine.Action]) {
        let aftermath = state.withLock { state in
            var aftermath = Aftermath()
            for action in event(&state, now()) { carryOut(action, &state, &aftermath) }
            wakeTimer(&state)
            return aftermath
        }
        for (job, error) in aftermath.ended { job.end(.failure(error)) }
        for closer in aftermath.closers { closer.resume() }
        for session in aftermath.unopened { openingFailed(session, .noThread) }
        onChange()
    }

    private func carryOut(_ action: PoolStateMachine.Action, _ state: inout State, _ aftermath: inout Aftermath) {
        switch action {
        case .open(let id): open(id, &state, &aftermath)
        case .stopOpening(let id): state.sessions[id]?.stopOpening()
        case .lease(let id, let request):
            guard let job = state.jobs.removeValue(forKey: request) else { preconditionFailure("no work: \(request)") }
            state.sessions[id]?.work.put(job)
        case .end(let id): state.sessions[id]?.work.close()
        case .interrupt(let id): state.sessions[id]?.interrupt()
        case .abandon(let id): state.sessions[id]?.abandon()
        case .refuse(let request, let refusal):
            guard let job = state.jobs.removeValue(forKey: request) else { preconditionFailure("no work: \(request)") }
            aftermath.ended.append((job, error(for: refusal, state)))
        case .closed:
            state.timer?.stop()
            aftermath.closers += state.closers
            state.closers = []
        }
    }

    private func open(_ id: PoolStateMachine.SessionID, _ state: inout State, _ aftermath: inout Aftermath) {
        let session = PoolSession(id)
        state.sessions[id] = session
        state.threads.removeAll(where: \.isFinished)
        let thread = WorkerThread.startIfPossible(name: "postgres \(id.number)") { session.live(in: self) }
        if let thread {
            state.threads.append(thread)
        } else {
            // Reported later: the state machine's actions are still being performed here.
            aftermath.unopened.append(id)
        }
    }

    private func error(for refusal: PoolStateMachine.Refusal, _ state: State) -> PostgresError {
        switch refusal {
        case .cancelled:
            return .cancelledWait
        case .closed:
            return PostgresError(.poolClosed, message: "the pool of sessions is closed")
        case .unreachable:
            if let failure = state.lastFailure { return failure }
            fallthrough
        case .timedOut:
            let reason = state.lastFailure.map { "the last attempt to open another one: \($0)" }
            let machine = state.machine
            return PostgresError(
                .poolTimeout,
                message: "no session was free in time: \(machine.leases.count) at work, \(machine.openingCount) being "
                    + "opened, at most \(limits.connections); others waiting: \(machine.waiting.count)",
                hint: reason
            )
        }
    }

    /// Nudges the timer if something is due before it wakes, and starts it on first use.
    private func wakeTimer(_ state: inout State) {
        guard let due = state.machine.nextDeadline else { return }
        if let timer = state.timer {
            guard state.timerWakesAt.map({ due < $0 }) ?? true else { return }
            state.timerWakesAt = due
            timer.nudge()
        } else {
            state.timerWakesAt = due
            state.timer = PoolTimer.startIfPossible { self.tick() }
        }
    }

    /// Performs the actions that are due.
    ///
    /// - Returns: the time until the next action is due; nil if none is.
    private func tick() -> Duration? {
        handle { state, now in state.machine.tick(at: now) }
        return state.withLock { state in
            state.timerWakesAt = state.machine.nextDeadline
            return state.timerWakesAt.map { $0 - now() }
        }
    }
}

/// Events that the pool's callers and session threads report.
extension PoolCore {
    /// Requests a session for a job; the job ends whether or not it gets one.
    func submit(_ job: PoolJob) {
        var isCancelled = false
        handle { state, now in
            isCancelled = job.standing.withLock(\.isCancelled)
            guard !isCancelled else { return [] }
            let (request, actions) = state.machine.request(until: job.acquireTimeout.map { now + $0 }, at: now)
            state.jobs[request] = job
            job.standing.withLock { $0.request = request }
            return actions
        }
        if isCancelled { job.end(.failure(.cancelledWait)) }
    }

    /// Cancels a job whose task was cancelled, possibly before it asked for a session or after it ended.
    func cancel(_ job: PoolJob) {
        handle { state, now in
            let request = job.standing.withLock { standing in
                standing.isCancelled = true
                return standing.request
            }
            return request.map { state.machine.cancel($0, at: now) } ?? []
        }
    }

    func opened(_ session: PoolStateMachine.SessionID) {
        handle { state, now in
            state.lastFailure = nil
            return state.machine.opened(session, at: now)
        }
    }

    func openingFailed(_ session: PoolStateMachine.SessionID, _ error: PostgresError) {
        handle { state, now in
            state.lastFailure = error
            state.sessions[session] = nil
            return state.machine.openingFailed(session, at: now)
        }
    }

    func foundStale(_ session: PoolStateMachine.SessionID, _ job: PoolJob) {
        handle { state, now in
            if let request = job.standing.withLock(\.request) { state.jobs[request] = job }
            return state.machine.foundStale(session, at: now)
        }
    }

    func givenBack(_ session: PoolStateMachine.SessionID, isUsable: Bool) {
        handle { state, now in state.machine.givenBack(session, isUsable: isUsable, at: now) }
    }

    func ended(_ session: PoolStateMachine.SessionID) {
        handle { state, now in
            state.sessions[session] = nil
            return state.machine.ended(session, at: now)
        }
    }

    /// Begins to close the pool.
    ///
    /// - Parameter closer: resumed when the pool is closed; nil if no caller waits.
    func close(_ closer: CheckedContinuation<Void, Never>?) {
        handle { state, now in
            if let closer { state.closers.append(closer) }
            return state.machine.isClosed ? [.closed] : state.machine.close(at: now)
        }
    }

    /// Makes the timer check the clock again after a jump.
    func clockMoved() {
        state.withLock { $0.timer?.nudge() }
    }

    /// Returns the threads of a closed pool that are ending or have ended, without those whose work does not return.
    func endingThreads() -> [WorkerThread] {
        state.withLock { state in
            let stuck = state.sessions.count
            return (stuck == 0 ? state.threads : state.threads.filter(\.isFinished))
                + [state.timer?.thread].compactMap(\.self)
        }
    }
}

extension PostgresError {
    fileprivate static var cancelledWait: PostgresError {
        PostgresError(.cancelled, message: "the wait for a session was cancelled; nothing was sent")
    }

    fileprivate static var noThread: PostgresError {
        PostgresError(
            .connectionFailed,
            message: "no thread is left for a connection",
            hint: "Raise the limit of threads (TasksMax, ulimit -u)."
        )
    }
}
