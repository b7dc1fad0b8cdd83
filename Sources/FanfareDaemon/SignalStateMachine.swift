package import UnixSignals

/// Decides the action for a signal.
///
/// SIGTERM drains, a second SIGTERM or a SIGINT stops at once, and SIGHUP reloads; any number of SIGHUPs during a
/// reload cause one more.
package struct SignalStateMachine {
    package init() {}

    /// An action of the daemon.
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

    /// Handles a signal.
    ///
    /// - Parameter signal: the signal.
    /// - Returns: the action; nil for none.
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

    /// Handles the end of a reload, successful or not.
    ///
    /// - Returns: another reload, if one was requested meanwhile and the daemon still runs.
    package mutating func reloadFinished() -> Action? {
        let again = reload == .wantedAgain && phase == .running
        reload = again ? .underWay : .idle
        return again ? .reload : nil
    }
}
