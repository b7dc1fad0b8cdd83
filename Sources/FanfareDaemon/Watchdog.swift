internal import FanfareConfiguration
internal import FanfareLogging
package import FanfareStages
package import Logging

/// Pings systemd's watchdog while all of the daemon's loops make progress.
///
/// A loop that hangs is named in the log, and pings stop: systemd ends the process after `WatchdogSec=`, and another
/// daemon rescues its batches.
package struct Watchdog: Sendable {
    let notifier: SystemdNotifier
    let pulses: Pulses
    let logger: Logger

    package init(notifier: SystemdNotifier, pulses: Pulses, logger: Logger) {
        self.notifier = notifier
        self.pulses = pulses
        self.logger = logger
    }

    /// Pings twice as often as required until the task is cancelled; does nothing without a watchdog.
    package func run() async {
        guard let interval = notifier.watchdogInterval else { return }
        while !Task.isCancelled {
            ping()
            // The sleep throws on cancellation, and the loop ends.
            try? await Task.sleep(for: interval / 2)
        }
    }

    /// Pings, unless a loop hangs.
    func ping() {
        let hanging = pulses.hanging
        guard hanging.isEmpty else {
            let names = hanging.joined(separator: ", ")
            logger.error("a stage hangs; the watchdog is left to end the daemon", metadata: .init([.stage: "\(names)"]))
            return
        }
        notifier.watchdog()
    }
}
