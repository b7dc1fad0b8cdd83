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
    ///   - context: the state that all stages share.
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
        let session = Session(context.database.promptQueue(name), of: context, stop: stopping)
        let queue = FeedbackQueue(logger: context.logger, bell: bell)
        while !stopping.isStopped {
            context.pulses.beat(name)
            let hooks = hooks.withLock { $0 }
            queue.keep(hooks)
            guard let owner = context.lease.owner else {
                bell.wait(timeout: .milliseconds(200))
                continue
            }
            guard !hooks.isEmpty || queue.hasHooks else {
                session.close()
                bell.wait(timeout: .seconds(30))
                continue
            }
            let wait = session.attempt { connection throws(PostgresError) in
                try queue.takeTurn(hooks, as: owner, on: connection)
            }
            bell.wait(timeout: .microseconds(wait ?? 0))
        }
        queue.stop()
        // Releases the hooks, so that another daemon need not wait until the lease expires.
        if let owner = context.lease.owner, queue.hasHooks {
            _ = session.attempt { connection throws(PostgresError) in
                try connection.run(SQL.releaseFeedbackHooks(owner, []))
            }
        }
        session.close()
    }
}
