import FanfareCore
import PostgresClient

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The simulation of the parts of `Maintainer` and `Scheduler` that concern suppressions.
extension VirtualDaemon {
    private static let interval = 200 * Micros.millisecond...Micros.second

    /// Ends batches behind aborted gates, and removes gates without batches.
    func sweep() {
        let aborting = orders.current.gates.aborting
        run(sweeping) { rows in
            for gate in aborting { rows.apply(SweepGate(gate: gate.id)) }
            rows.finishRuns()
        } answered: { (_: Void?) in
            self.after(self.world.chance.time(Self.interval)) { self.sweep() }
        }
    }

    /// Sends digests that are due.
    func flush() {
        run(scheduling) { [weak suppressions] rows in
            for event in rows.flushDigests() {
                suppressions?.expect(event.id, type: event.type, createdAt: event.createdAt)
            }
        } answered: { (_: Void?) in
            self.after(self.world.chance.time(Self.interval)) { self.flush() }
        }
    }
}
