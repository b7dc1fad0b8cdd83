internal import FanfareService
internal import Logging
internal import UnixSignals

/// Bounds the shutdown of a daemon: ends the process although services ignore cancellation.
struct DrainGuard: Sendable {
    let limit: Duration
    let logger: Logger
    /// Ends the process, with the signal that demanded it, or nil after the drain limit.
    let abandon: @Sendable (UnixSignal?) -> Void

    /// Forwards signals, and ends the process when a signal or the time limit demands it.
    ///
    /// - Parameters:
    ///   - signals: the incoming signals.
    ///   - forward: receives all of them; finishes with `signals`.
    func watch(
        _ signals: some AsyncSequence<UnixSignal, Never> & Sendable,
        forwardingTo forward: AsyncStream<UnixSignal>.Continuation
    ) async {
        await withTaskGroup(of: Void.self) { timers in
            var machine = SignalStateMachine()
            for await signal in signals {
                forward.yield(signal)
                switch machine.received(signal) {
                case .drain: timers.addTask { await abandonAtLimit() }
                case .stopAtOnce:
                    logger.warning("stopped at once; pushes in flight may be sent again")
                    abandon(signal)
                case .reload:
                    // The order of reloads is decided by the service group's own state machine.
                    _ = machine.reloadFinished()
                case nil: break
                }
            }
            forward.finish()
            timers.cancelAll()
        }
    }

    private func abandonAtLimit() async {
        do {
            try await Task.sleep(for: limit)
        } catch {
            return
        }
        logger.error("draining took too long; pushes in flight may be sent again")
        abandon(nil)
    }
}
