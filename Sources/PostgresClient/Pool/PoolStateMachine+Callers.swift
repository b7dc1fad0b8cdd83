/// Events that callers cause.
extension PoolStateMachine {
    /// Handles a caller's request for a session.
    ///
    /// - Parameters:
    ///   - deadline: when the caller stops waiting; nil for never.
    ///   - now: the time.
    /// - Returns: the caller's id, and the actions to perform: the caller gets a session at once, waits, or is refused.
    mutating func request(until deadline: Instant?, at now: Instant) -> (id: RequestID, actions: [Action]) {
        let id = newRequest()
        guard isOpen else { return (id, [.refuse(id, .closed)]) }
        waiting.insert(id, until: deadline)
        let actions = serve(at: now)
        if leases[id] == nil { mind(deadline) }
        return (id, actions)
    }

    /// Handles the cancellation of a request.
    ///
    /// - Parameters:
    ///   - request: the request, which may have been fully served already.
    ///   - now: the time.
    /// - Returns: the actions to perform; if the work is running, its session is interrupted and not used again.
    mutating func cancel(_ request: RequestID, at now: Instant) -> [Action] {
        if waiting.remove(request) { return [.refuse(request, .cancelled)] }
        guard let session = leases[request] else { return [] }
        return interrupt(session, at: now)
    }

    /// Handles a caller's return of its session.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - isUsable: whether another caller may have it.
    ///   - now: the time.
    /// - Returns: the actions to perform.
    mutating func givenBack(_ session: SessionID, isUsable: Bool, at now: Instant) -> [Action] {
        let (openedAt, lease) = endLease(of: session)
        var isInterrupted = true
        if case .none = lease.interruption { isInterrupted = false }
        let isTooOld = options.maximumLifetime.map { openedAt + $0 <= now } ?? false
        guard isUsable, isOpen, !isInterrupted, !isTooOld else {
            sessions[session] = .ending
            return [.end(session)] + serve(at: now)
        }
        rest(session, openedAt: openedAt, at: now)
        return serve(at: now)
    }

    /// Handles a session that was found closed before the caller's work began; the caller regains its place in the
    /// queue.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - now: the time.
    /// - Returns: the actions to perform.
    mutating func foundStale(_ session: SessionID, at now: Instant) -> [Action] {
        let (_, lease) = endLease(of: session)
        sessions[session] = .ending
        guard case .none = lease.interruption else { return [.end(session), .refuse(lease.request, .cancelled)] }
        guard isOpen else { return [.end(session), .refuse(lease.request, .closed)] }
        waiting.insert(lease.request, until: lease.deadline)
        mind(lease.deadline)
        return [.end(session)] + serve(at: now)
    }

    /// Assigns sessions to waiting callers, and opens more if there are too few.
    mutating func serve(at now: Instant) -> [Action] {
        var actions: [Action] = []
        while let session = idle.last, let (request, deadline) = waiting.removeFirst() {
            guard case .idle(let openedAt, _) = sessions[session] else { preconditionFailure("not idle: \(session)") }
            idle.removeLast()
            sessions[session] = .leased(openedAt: openedAt, Lease(request: request, deadline: deadline))
            leases[request] = session
            actions.append(.lease(session, request))
        }
        guard isOpen else { return actions }
        var opening = openingCount
        while opening < waiting.count, sessions.count < options.connections {
            if let retryAt {
                // While the server is unreachable, only one attempt runs at a time.
                guard opening == 0 else { break }
                guard retryAt <= now else {
                    mind(retryAt)
                    break
                }
            }
            let session = newSession()
            sessions[session] = .opening
            opening += 1
            actions.append(.open(session))
        }
        return actions
    }

    /// Makes a session idle, ready for the next caller.
    mutating func rest(_ session: SessionID, openedAt: Instant, at now: Instant) {
        sessions[session] = .idle(openedAt: openedAt, since: now)
        idle.append(session)
        mind(options.idleLifetime.map { now + $0 })
        mind(options.maximumLifetime.map { openedAt + $0 })
    }

    /// Begins to end a lease early.
    mutating func interrupt(_ session: SessionID, at now: Instant) -> [Action] {
        guard case .leased(let openedAt, var lease) = sessions[session], case .none = lease.interruption else {
            return []
        }
        let abandonAt = now + options.cancelTimeout
        lease.interruption = .asked(abandonAt: abandonAt)
        sessions[session] = .leased(openedAt: openedAt, lease)
        mind(abandonAt)
        return [.interrupt(session)]
    }

    private mutating func endLease(of session: SessionID) -> (openedAt: Instant, lease: Lease) {
        guard case .leased(let openedAt, let lease) = sessions[session] else {
            preconditionFailure("nobody has \(session)")
        }
        leases[lease.request] = nil
        return (openedAt, lease)
    }
}
