internal import PostgresClient
internal import Threading

/// Which run's query one thread reads, so that another can end it: the query may run for minutes.
package final class RunningQuery: Sendable {
    private struct State {
        var run: Int64?
        var watch: PostgresWatch?
        var isGivenUp = false
    }

    private let state = Locked(State())

    /// Nothing is read yet.
    package init() {}

    /// The run that is read.
    var run: Int64? { state.withLock { $0.run } }

    /// Whether the one that is read, or was last, was given up.
    var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

    /// A run is read from now on.
    func begin(_ run: Int64) {
        state.withLock { $0 = State(run: run) }
    }

    /// Its query runs on this session.
    func open(_ watch: PostgresWatch) {
        let isGivenUp = state.withLock { state in
            state.watch = watch
            return state.isGivenUp
        }
        if isGivenUp { watch.abandon() }
    }

    /// Nothing is read any more.
    func end() {
        state.withLock { state in
            state.run = nil
            state.watch = nil
        }
    }

    /// Ends the reading of a run, if it is this one that is read; from any thread.
    ///
    /// - Parameter run: which; nil for any.
    func giveUp(_ run: Int64? = nil) {
        let watch = state.withLock { state -> PostgresWatch? in
            guard let current = state.run, run.map({ $0 == current }) ?? true else { return nil }
            state.isGivenUp = true
            return state.watch
        }
        watch?.abandon()
    }
}
