internal import Threading

/// What a pool's threads share: tells the state machine what happened, and carries out what it answers.
///
/// Lives until its last thread has ended, also when nobody has the pool any more.
final class PoolCore: Sendable {
    /// What the lock guards.
    struct State: Sendable {
        var machine: PoolStateMachine
        var sessions: [PoolStateMachine.SessionID: PoolSession] = [:]
        /// Callers that wait, and those whose work is waiting for its session's thread.
        var jobs: [PoolStateMachine.RequestID: PoolJob] = [:]
        /// Why no session could be opened last; nil after one was.
        var lastFailure: PostgresError?
        /// Those that wait for the pool's end.
        var closers: [CheckedContinuation<Void, Never>] = []
        /// Threads of sessions that may still run.
        var threads: [WorkerThread] = []
        var timer: PoolTimer?
        /// For when the timer sleeps; nil: until it is nudged.
        var timerWakesAt: PoolStateMachine.Instant?
    }

    /// What is done after the lock was left, since it runs code that is not the pool's.
    struct Aftermath: Sendable {
        var ended: [(job: PoolJob, error: PostgresError)] = []
        var closers: [CheckedContinuation<Void, Never>] = []
        /// Sessions for which there was no thread.
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

    /// How many sessions and callers there are.
    var counts: PostgresPoolCounts {
        state.withLock { state in
            PostgresPoolCounts(
                sessions: state.machine.sessions.count,
                leased: state.machine.leases.count,
                waiting: state.machine.waiting.count
            )
        }
    }

    /// Tells the state machine something, and carries out its answer.
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
            // Not told from in here: the state machine's answer is still being carried out.
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

    /// Nudges the timer if something is due before it wakes; starts it at first.
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

    /// Does what is due.
    ///
    /// - Returns: how long nothing is due; nil for until something happens.
    private func tick() -> Duration? {
        handle { state, now in state.machine.tick(at: now) }
        return state.withLock { state in
            state.timerWakesAt = state.machine.nextDeadline
            return state.timerWakesAt.map { $0 - now() }
        }
    }
}

/// What happens.
extension PoolCore {
    /// A caller asks for a session; its job is ended with or without.
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

    /// A caller's task was cancelled, perhaps before it asked or after its end.
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
    /// - Parameter closer: told when it is closed; nil for nobody.
    func close(_ closer: CheckedContinuation<Void, Never>?) {
        handle { state, now in
            if let closer { state.closers.append(closer) }
            return state.machine.isClosed ? [.closed] : state.machine.close(at: now)
        }
    }

    /// Has the timer look at the clock, which went on.
    func clockMoved() {
        state.withLock { $0.timer?.nudge() }
    }

    /// The threads of a closed pool that end or have ended; not those whose work does not return.
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
