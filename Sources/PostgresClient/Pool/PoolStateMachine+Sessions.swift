/// Events of sessions, of the clock and of the pool itself.
extension PoolStateMachine {
    /// The delay after one failure; each further failure doubles it.
    private static let firstRetry = Duration.milliseconds(100)
    /// The maximum delay: a server that is back is found within a second.
    private static let longestRetry = Duration.seconds(1)

    /// Handles a session that was opened.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - now: the time.
    /// - Returns: the actions to perform.
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

    /// Handles a failed attempt to open a session.
    ///
    /// While other sessions work or other attempts are in progress, no caller is refused, because it may still get a
    /// session. Otherwise all waiting callers are refused at once, so that each does not wait for a failed attempt of
    /// its own. Later callers wait for the next attempt, at most a second.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - now: the time.
    /// - Returns: the actions to perform.
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

    /// Handles the end of a session that was told to end.
    ///
    /// - Parameters:
    ///   - session: the session.
    ///   - now: the time.
    /// - Returns: the actions to perform.
    mutating func ended(_ session: SessionID, at now: Instant) -> [Action] {
        guard case .ending = sessions[session] else { preconditionFailure("nobody ends \(session)") }
        sessions[session] = nil
        return isOpen ? serve(at: now) : closedIfOver()
    }

    /// Handles the passage of time.
    ///
    /// - Parameter now: the time.
    /// - Returns: the actions that are due.
    mutating func tick(at now: Instant) -> [Action] {
        var actions = waiting.removeExpired(at: now).map { request in
            // If the server is unreachable and no session is live, `unreachable` explains more than `timedOut`.
            Action.refuse(request, failures > 0 && !hasLiveSession ? .unreachable : .timedOut)
        }
        actions += endAged(at: now)
        if case .closing(let interruptAt, let giveUpAt) = phase {
            if interruptAt <= now { for session in leases.values { actions += interrupt(session, at: now) } }
            if giveUpAt <= now { phase = .closed }
        }
        actions += abandonOverdue(at: now)
        // Cleared only now, so that a caller of close never finds pending actions.
        if isClosed, earliestDue != nil {
            earliestDue = nil
            return actions + [.closed]
        }
        actions += serve(at: now)
        earliestDue = earliest()
        return actions
    }

    /// Begins to close the pool: waiting callers are refused, idle sessions end, and leases may end by themselves for a
    /// while.
    ///
    /// - Parameter now: the time.
    /// - Returns: the actions to perform; none if the pool is closing already.
    mutating func close(at now: Instant) -> [Action] {
        guard isOpen else { return [] }
        let interruptAt = now + options.closeTimeout
        // Enough time to cancel, to abandon, and to notice the abandonment.
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

    /// Ends idle sessions that have been unused for long or are old.
    private mutating func endAged(at now: Instant) -> [Action] {
        let aged = idle.filter { end(ofIdle: $0).map { $0 <= now } ?? false }
        for session in aged { sessions[session] = .ending }
        idle.removeAll { aged.contains($0) }
        return aged.map { .end($0) }
    }

    /// Returns when an idle session is to end; nil for never.
    private func end(ofIdle session: SessionID) -> Instant? {
        guard case .idle(let openedAt, let since) = sessions[session] else { return nil }
        return [options.idleLifetime.map { since + $0 }, options.maximumLifetime.map { openedAt + $0 }]
            .compactMap(\.self).min()
    }

    /// Abandons leases that did not end after the cancel request and, when the pool gives up, all leases that are left.
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

    /// Returns the next time at which something is due.
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
