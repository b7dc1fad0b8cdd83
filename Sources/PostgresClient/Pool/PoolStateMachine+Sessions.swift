/// What becomes of sessions, and of the pool.
extension PoolStateMachine {
    /// After one failure; doubled by each further one.
    private static let firstRetry = Duration.milliseconds(100)
    /// So long at most: a server that is back is found within a second.
    private static let longestRetry = Duration.seconds(1)

    /// A session is open.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - now: the time.
    /// - Returns: what to do.
    mutating func opened(_ session: SessionID, at now: Instant) -> [Action] {
        guard case .opening = sessions[session] else { preconditionFailure("nobody opens \(session)") }
        failures = 0
        retryAt = nil
        guard isOpen else {
            sessions[session] = .ending
            return [.end(session)]
        }
        rest(session, openedAt: now, at: now)
        return serve(at: now)
    }

    /// A session could not be opened.
    ///
    /// While other sessions work, or other attempts are under way, nobody is told: those that wait may still get one.
    /// Otherwise all that wait are told, so that nobody has to wait for a failure of his own. Who comes later waits for the
    /// next attempt, at most a second.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - now: the time.
    /// - Returns: what to do.
    mutating func openingFailed(_ session: SessionID, at now: Instant) -> [Action] {
        guard case .opening = sessions[session] else { preconditionFailure("nobody opens \(session)") }
        sessions[session] = nil
        guard isOpen else { return closedIfOver() }
        if retryAt.map({ $0 <= now }) ?? true {
            failures += 1
            let wait = failures > 4 ? Self.longestRetry : Self.firstRetry * (1 << (failures - 1))
            retryAt = now + min(wait, Self.longestRetry)
        }
        guard openingCount > 0 || hasLiveSession else {
            return waiting.removeAll().map { .refuse($0, .unreachable) }
        }
        if !waiting.isEmpty { mind(retryAt) }
        return serve(at: now)
    }

    /// A session that was to end has ended.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - now: the time.
    /// - Returns: what to do.
    mutating func ended(_ session: SessionID, at now: Instant) -> [Action] {
        guard case .ending = sessions[session] else { preconditionFailure("nobody ends \(session)") }
        sessions[session] = nil
        return isOpen ? serve(at: now) : closedIfOver()
    }

    /// Time has passed.
    ///
    /// - Parameter now: the time.
    /// - Returns: what is due.
    mutating func tick(at now: Instant) -> [Action] {
        var actions = waiting.removeExpired(at: now).map { request in
            // With nothing to wait for but a server that is away, that is the better answer.
            Action.refuse(request, failures > 0 && !hasLiveSession ? .unreachable : .timedOut)
        }
        actions += endAged(at: now)
        if case .closing(let interruptAt, let giveUpAt) = phase {
            if interruptAt <= now { for session in leases.values { actions += interrupt(session, at: now) } }
            if giveUpAt <= now { phase = .closed }
        }
        actions += abandonOverdue(at: now)
        // Only now: who closes must not find that something was still to be done.
        if isClosed, earliestDue != nil {
            earliestDue = nil
            return actions + [.closed]
        }
        actions += serve(at: now)
        earliestDue = earliest()
        return actions
    }

    /// The pool is to close: who waits is refused, idle sessions end, leases may end by themselves for a while.
    ///
    /// - Parameter now: the time.
    /// - Returns: what to do; nothing if it closes already.
    mutating func close(at now: Instant) -> [Action] {
        guard isOpen else { return [] }
        let interruptAt = now + options.closeTimeout
        // As long as it takes to cancel, to abandon, and to notice that.
        phase = .closing(interruptAt: interruptAt, giveUpAt: interruptAt + options.cancelTimeout * 2)
        mind(interruptAt)
        var actions: [Action] = waiting.removeAll().map { .refuse($0, .closed) }
        for session in idle {
            sessions[session] = .ending
            actions.append(.end(session))
        }
        idle = []
        for (session, state) in sessions {
            if case .opening = state { actions.append(.stopOpening(session)) }
        }
        return actions + closedIfOver()
    }

    private mutating func closedIfOver() -> [Action] {
        guard case .closing = phase, sessions.isEmpty else { return [] }
        phase = .closed
        earliestDue = nil
        return [.closed]
    }

    /// Ends idle sessions that were not used for long, or are old.
    private mutating func endAged(at now: Instant) -> [Action] {
        let aged = idle.filter { end(ofIdle: $0).map { $0 <= now } ?? false }
        for session in aged { sessions[session] = .ending }
        idle.removeAll { aged.contains($0) }
        return aged.map { .end($0) }
    }

    /// When an idle session is to end; nil for never.
    private func end(ofIdle session: SessionID) -> Instant? {
        guard case .idle(let openedAt, let since) = sessions[session] else { return nil }
        return [options.idleLifetime.map { since + $0 }, options.maximumLifetime.map { openedAt + $0 }]
            .compactMap(\.self).min()
    }

    /// Cuts off what did not end although the server was asked to end it; when the pool gives up, whatever has not ended.
    private mutating func abandonOverdue(at now: Instant) -> [Action] {
        var actions: [Action] = []
        for session in leases.values {
            guard case .leased(let openedAt, var lease) = sessions[session],
                case .asked(let abandonAt) = lease.interruption, abandonAt <= now || isClosed
            else { continue }
            lease.interruption = .abandoned
            sessions[session] = .leased(openedAt: openedAt, lease)
            actions.append(.abandon(session))
        }
        return actions
    }

    /// The next time at which something is due.
    private func earliest() -> Instant? {
        var due = idle.map { end(ofIdle: $0) }
        due.append(waiting.earliestDeadline)
        if !waiting.isEmpty, openingCount == 0, sessions.count < options.connections { due.append(retryAt) }
        for session in leases.values {
            guard case .leased(_, let lease) = sessions[session] else { continue }
            if case .asked(let abandonAt) = lease.interruption { due.append(abandonAt) }
        }
        if case .closing(let interruptAt, let giveUpAt) = phase {
            let hasInterrupted = leases.values.allSatisfy { session in
                guard case .leased(_, let lease) = sessions[session] else { return true }
                if case .none = lease.interruption { return false }
                return true
            }
            due.append(hasInterrupted ? giveUpAt : min(interruptAt, giveUpAt))
        }
        return due.compactMap(\.self).min()
    }
}
