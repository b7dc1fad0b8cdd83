internal import FanfareCore
package import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Delivers feedback to hooks, on a thread of its own in every daemon; each hook is served by one daemon at a time.
///
/// Its session is open while there are hooks. No transaction stays open during a request: the database stores each
/// hook's position, and a successful delivery advances it.
package final class FeedbackDispatcher: Stage {
    package let name = "feedback"
    private let context: StageContext
    private let stopping = StopSignal()
    private let bell = Bell()
    private let hooks: Locked<[FeedbackHook]>

    /// Creates the stage.
    ///
    /// - Parameters:
    ///   - context: what every stage needs.
    ///   - hooks: the hooks; ``apply(_:)`` replaces them.
    package init(context: StageContext, hooks: [FeedbackHook]) {
        self.context = context
        self.hooks = Locked(hooks)
    }

    /// Replaces the hooks.
    ///
    /// - Parameter fresh: all hooks; unchanged ones continue without interruption.
    package func apply(_ fresh: [FeedbackHook]) {
        hooks.withLock { $0 = fresh }
        bell.ring()
    }

    package func stop() {
        stopping.stop()
        bell.ring()
    }

    package func run() {
        let queue = FeedbackQueue(logger: context.logger, bell: bell)
        context.takeTurns(on: context.database.promptQueue(name), until: stopping) { session in
            let hooks = hooks.withLock { $0 }
            queue.keep(hooks)
            guard let owner = context.owner(orSleepingBy: bell) else { return }
            guard !hooks.isEmpty || queue.hasHooks else {
                session.close()
                bell.wait(timeout: .seconds(30))
                return
            }
            let wait = session.attempt { connection throws(PostgresError) in
                try queue.takeTurn(hooks, as: owner, on: connection)
            }
            bell.wait(timeout: .microseconds(wait ?? 0))
        } end: { session in
            queue.stop()
            // Releases the hooks, so that another daemon need not wait until the lease expires.
            guard let owner = context.lease.owner, queue.hasHooks else { return }
            _ = session.attempt { connection throws(PostgresError) in
                try connection.run(SQL.releaseFeedbackHooks(owner, []))
            }
        }
    }
}
