internal import PostgresClient
internal import Threading

/// The run whose query one thread executes, so that another thread can stop it: a query may run for minutes.
package final class RunningQuery: Sendable {
    private struct State {
        var run: Int64?
        var watch: PostgresWatch?
        var isGivenUp = false
    }

    private let state = Locked(State())

    /// Creates a record without a run.
    package init() {}

    /// The current run.
    var run: Int64? { state.withLock { $0.run } }

    /// Whether the current or last run was given up.
    var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// Records the start of a run.
    func begin(_ run: Int64) {
        state.withLock { $0 = State(run: run) }
    }

    /// Records the session on which the run's query executes.
    func open(_ watch: PostgresWatch) {
        let isGivenUp = state.withLock { state in
            state.watch = watch
            return state.isGivenUp
        }
        if isGivenUp { watch.abandon() }
    }

    /// Records the end of the run.
    func end() {
        state.withLock { state in
            state.run = nil
            state.watch = nil
        }
    }

    /// Stops the query of a run if it is the current one; may be called from any thread.
    ///
    /// - Parameter run: the run; nil for any.
    func giveUp(_ run: Int64? = nil) {
        let watch = state.withLock { state -> PostgresWatch? in
            guard let current = state.run, run.map({ $0 == current }) ?? true else { return nil }
            state.isGivenUp = true
            return state.watch
        }
        watch?.abandon()
    }
}
