internal import FanfareCore
internal import Threading

/// One stage of the pipeline: a loop on its own thread, because it blocks in libpq or libcurl.
package protocol Stage: Sendable {
    /// The name of the thread, also used in log lines.
    var name: String { get }

    /// Works until ``stop()``; called once, on the stage's own thread.
    func run()

    /// Makes ``run()`` return soon, after handing on what it holds; may be called from any thread, and repeatedly.
    func stop()
}

/// A stop flag with closures that run when it is raised.
package final class StopSignal: Sendable {
    private struct State {
        var isStopped = false
        var wakers: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    /// Creates a signal that is not raised.
    package init() {}

    /// Whether ``stop()`` was called.
    package var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Runs a closure when the signal is raised, at once if it already is.
    package func whenStopped(_ waker: @escaping @Sendable () -> Void) {
        let isStopped = state.withLock { state in
            if !state.isStopped { state.wakers.append(waker) }
            return state.isStopped
        }
        if isStopped { waker() }
    }

    /// Raises the signal; further calls do nothing.
    package func stop() {
        let wakers = state.withLock { state in
            state.isStopped = true
            defer { state.wakers = [] }
            return state.wakers
        }
        for waker in wakers { waker() }
    }
}

/// A wake-up signal for one sleeping thread; any thread may ring it, and several rings before a wake count as one.
package final class Bell: Sendable {
    private let mailbox = Mailbox<Bool>()

    /// Creates a bell that has not rung.
    package init() {}

    /// Ends the current sleep, or the next one.
    package func ring() {
        mailbox.put(true)
    }

    /// Sleeps until the bell rings.
    ///
    /// - Parameter timeout: the longest time to sleep.
    /// - Returns: whether the bell rang.
    @discardableResult
    package func wait(timeout: Duration) -> Bool {
        !(mailbox.take(timeout: timeout) ?? []).isEmpty
    }
}
