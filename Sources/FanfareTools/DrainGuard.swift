internal import FanfareService
internal import Logging
internal import UnixSignals

/// Keeps the end of a daemon bounded: services that do not answer to being cancelled are left behind with the process.
struct DrainGuard: Sendable {
    let limit: Duration
    let logger: Logger
    /// Ends the process, because of a signal or, with nil, because its time is over.
    let abandon: @Sendable (UnixSignal?) -> Void

    /// Passes signals on, and ends the process where they, or time, demand it.
    ///
    /// - Parameters:
    ///   - signals: what arrives.
    ///   - forward: gets all of it; finished with `signals`.
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
                    // Whether reloads follow each other is the group's own machine's business.
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
