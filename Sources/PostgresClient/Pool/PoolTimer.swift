internal import Threading

/// Calls a pool when something is due, on its own thread.
final class PoolTimer: Sendable {
    private let nudges: Mailbox<Void>
    /// Ends after ``stop()``.
    let thread: WorkerThread

    /// Starts the thread.
    ///
    /// - Parameter tick: performs what is due and returns how long to sleep; nil means until the next nudge.
    /// - Returns: nil if the system cannot start a thread.
    static func startIfPossible(_ tick: @escaping @Sendable () -> Duration?) -> PoolTimer? {
        let nudges = Mailbox<Void>()
        let thread = WorkerThread.startIfPossible(name: "pool timer") {
            // One millisecond is added, so that rounding never wakes the thread too early.
            while nudges.take(timeout: tick().map { max($0, .zero) + .milliseconds(1) }) != nil {}
        }
        return thread.map { PoolTimer(nudges, $0) }
    }

    private init(_ nudges: Mailbox<Void>, _ thread: WorkerThread) {
        self.nudges = nudges
        self.thread = thread
    }

    /// Wakes the thread early, because something is due earlier or the clock jumped.
    func nudge() {
        nudges.put(())
    }

    /// Lets the thread end.
    func stop() {
        nudges.close()
    }
}
