package import UnixSignals

/// Decides what a signal leads to.
///
/// TERM drains, a second TERM or an INT stops at once, HUP reloads; further HUPs during a reload lead to one more.
package struct SignalStateMachine {
    package init() {}

    /// What the daemon is told.
    package enum Action: Equatable {
        case drain
        case stopAtOnce
        case reload
    }

    private enum Phase {
        /// Can transition to: `draining` (TERM), `stopped` (INT).
        case running
        /// Can transition to: `stopped` (TERM, INT).
        case draining
        /// Final.
        case stopped
    }

    private enum Reload {
        /// Can transition to: `underWay` (HUP).
        case idle
        /// Can transition to: `wantedAgain` (HUP), `idle` (done).
        case underWay
        /// Can transition to: `underWay` (done).
        case wantedAgain
    }

    private var phase = Phase.running
    private var reload = Reload.idle

    /// Takes a signal.
    ///
    /// - Parameter signal: which one.
    /// - Returns: what to do; nil for nothing.
    package mutating func received(_ signal: UnixSignal) -> Action? {
        switch (signal, phase) {
        case (.sigterm, .running):
            phase = .draining
            return .drain
        case (.sigterm, .draining), (.sigint, .running), (.sigint, .draining):
            phase = .stopped
            return .stopAtOnce
        case (.sighup, .running):
            return wantReload()
        default:
            return nil
        }
    }

    private mutating func wantReload() -> Action? {
        switch reload {
        case .idle:
            reload = .underWay
            return .reload
        case .underWay, .wantedAgain:
            reload = .wantedAgain
            return nil
        }
    }

    /// Takes note that a reload is done, whether it worked or not.
    ///
    /// - Returns: another reload, if one was asked for meanwhile and the daemon still runs.
    package mutating func reloadFinished() -> Action? {
        let again = reload == .wantedAgain && phase == .running
        reload = again ? .underWay : .idle
        return again ? .reload : nil
    }
}
