internal import FanfareCore
internal import Threading

/// One stage of the pipeline: a loop on a thread of its own, since it blocks in libpq or libcurl.
package protocol Stage: Sendable {
    /// Names the thread and the log lines.
    var name: String { get }

    /// Works until ``stop()``; called once, on the stage's own thread.
    func run()

    /// Makes ``run()`` return soon, with what it holds handed on; from any thread, more than once.
    func stop()
}

/// A flag that says stop, and whom to wake when it does.
package final class StopSignal: Sendable {
    private struct State {
        var isStopped = false
        var wakers: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    /// Not raised yet.
    package init() {}

    /// Whether ``stop()`` was called.
    package var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Runs a closure when the signal comes, at once if it has.
    package func whenStopped(_ waker: @escaping @Sendable () -> Void) {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.wakers.append(waker) }
            return state.isStopped
        }
        if isStopped { waker() }
    }

    /// Raises the signal; again is harmless.
    package func stop() {
        let wakers = state.withLock { state in
            state.isStopped = true
            defer { state.wakers = [] }
            return state.wakers
        }
        for waker in wakers { waker() }
    }
}

/// A bell that one thread sleeps on; rung from any thread, rings are not counted.
package final class Bell: Sendable {
    private let mailbox = Mailbox<Bool>()

    /// Silent yet.
    package init() {}

    /// Ends the sleep, or the next one.
    package func ring() {
        mailbox.put(true)
    }

    /// Sleeps until the bell rings.
    ///
    /// - Parameter timeout: how long at most.
    /// - Returns: whether it rang.
    @discardableResult
    package func wait(timeout: Duration) -> Bool {
        !(mailbox.take(timeout: timeout) ?? []).isEmpty
    }
}
