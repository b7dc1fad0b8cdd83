internal import Threading

/// Calls a pool when something is due, from a thread of its own.
final class PoolTimer: Sendable {
    private let nudges: Mailbox<Void>
    /// Ends after ``stop()``.
    let thread: WorkerThread

    /// Starts the thread.
    ///
    /// - Parameter tick: does what is due, and says how long to sleep then; nil for until the next nudge.
    /// - Returns: nil if the system has no thread to give.
    static func startIfPossible(_ tick: @escaping @Sendable () -> Duration?) -> PoolTimer? {
        let nudges = Mailbox<Void>()
        let thread = WorkerThread.startIfPossible(name: "pool timer") {
            // A millisecond more, so that rounding never makes it too early.
            while nudges.take(timeout: tick().map { max($0, .zero) + .milliseconds(1) }) != nil {}
        }
        return thread.map { PoolTimer(nudges, $0) }
    }

    private init(_ nudges: Mailbox<Void>, _ thread: WorkerThread) {
        self.nudges = nudges
        self.thread = thread
    }

    /// Has it look again: something is due earlier, or the clock went on.
    func nudge() {
        nudges.put(())
    }

    /// Lets the thread end.
    func stop() {
        nudges.close()
    }
}
