internal import FanfareConfiguration
internal import FanfareLogging
package import FanfareStages
package import Logging

/// Tells systemd that the daemon is alive, as long as all of its loops come round.
///
/// One that hangs is named in the log, and then there is silence: systemd ends the process after `WatchdogSec=`, and another
/// one rescues its batches.
package struct Watchdog: Sendable {
    let notifier: SystemdNotifier
    let pulses: Pulses
    let logger: Logger

    package init(notifier: SystemdNotifier, pulses: Pulses, logger: Logger) {
        self.notifier = notifier
        self.pulses = pulses
        self.logger = logger
    }

    /// Pings twice as often as it has to until its task is cancelled; does nothing where nobody watches.
    package func run() async {
        guard let interval = notifier.watchdogInterval else { return }
        while !Task.isCancelled {
            ping()
            // Cancelled: the loop ends.
            try? await Task.sleep(for: interval / 2)
        }
    }

    /// Pings, unless something hangs.
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
