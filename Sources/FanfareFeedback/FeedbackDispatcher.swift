internal import FanfareCore
package import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Tells hooks what became of pushes, on a thread of its own in every daemon; each hook is told by one of them at a time.
///
/// Its session is open as long as there are hooks, and nothing waits for a hook in a transaction: the database knows up to where
/// each was told, and a delivery moves that once it is taken.
package final class FeedbackDispatcher: Stage {
    package let name = "feedback"
    private let context: StageContext
    private let stopping = StopSignal()
    private let bell = Bell()
    private let hooks: Locked<[FeedbackHook]>

    /// Makes the stage.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - hooks: whom to tell; ``apply(_:)`` changes them.
    package init(context: StageContext, hooks: [FeedbackHook]) {
        self.context = context
        self.hooks = Locked(hooks)
    }

    /// Goes by other hooks from now on.
    ///
    /// - Parameter fresh: all there are; one that is as it was goes on.
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
        // So that another daemon need not wait for the end of the lease.
        if let owner = context.lease.owner, queue.hasHooks {
            _ = session.attempt { connection throws(PostgresError) in
                try connection.run(ReleaseFeedbackHooks(owner: owner, keeping: []))
            }
        }
        session.close()
    }
}
