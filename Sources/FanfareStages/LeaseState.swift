package import FanfareCore
package import FanfareStore
internal import PostgresClient
internal import Threading

/// The daemon's lease, shared by all stages.
package final class LeaseState: Sendable {
    private struct State {
        var owner: Int32?
        var guardian = LeaseGuard()
        var databaseClock = DatabaseClock(wall: Clocks.wall, steady: Clocks.steady)

        mutating func granted(startedAt: Microseconds, databaseNow: Microseconds, answered: Microseconds) {
            guardian.renewSucceeded(startedAt: startedAt)
            databaseClock.read(databaseNow, asked: startedAt, answered: answered)
        }
    }

    private let state = Locked(State())

    /// The current owner number; nil without a lease.
    package var owner: Int32? { state.withLock { $0.owner } }

    /// The database's current time, in microseconds since 1970.
    package var databaseNow: Microseconds { state.withLock { $0.databaseClock.now(steady: Clocks.steady) } }

    /// The last step of the database's clock since this daemon started; nil if there was none.
    package var clockStep: DatabaseClock.Step? { state.withLock { $0.databaseClock.lastStep } }

    /// Returns until when (steady clock) this daemon may submit an owner's batches; a past time if it may not.
    package func submitsUntil(owner: Int32) -> Microseconds {
        state.withLock { state in
            guard state.owner == owner || state.owner == nil else { return 0 }
            return state.guardian.submitsUntil ?? 0
        }
    }

    /// Returns until when an owner's batches may be submitted with the cancellations known now.
    ///
    /// Reading the cancellations again extends it, up to ``submitsUntil(owner:)``.
    package func startsUntil(owner: Int32) -> Microseconds {
        state.withLock { state in
            guard state.owner == owner || state.owner == nil else { return 0 }
            return state.guardian.startsUntil ?? 0
        }
    }

    /// Whether the controller looked at the database within the last second; then it wakes each stage that has work.
    package var isWatched: Bool { state.withLock { $0.owner != nil && ($0.guardian.startsUntil ?? 0) > Clocks.steady } }

    /// Records that the cancellations were read.
    package func cancelsRead(startedAt: Microseconds) {
        state.withLock { $0.guardian.cancelsRead(startedAt: startedAt) }
    }

    /// Starts a lease under a new owner number, after a control connection was opened.
    package func begin(owner: Int32, startedAt: Microseconds, databaseNow: Microseconds) {
        let answered = Clocks.steady
        state.withLock { state in
            state.owner = owner
            state.guardian = LeaseGuard()
            state.granted(startedAt: startedAt, databaseNow: databaseNow, answered: answered)
        }
    }

    /// Records a renewal of the lease.
    package func renewed(startedAt: Microseconds, databaseNow: Microseconds) {
        let answered = Clocks.steady
        state.withLock { $0.granted(startedAt: startedAt, databaseNow: databaseNow, answered: answered) }
    }

    /// Updates the database's time from the time at which batches were claimed.
    ///
    /// The database's clock may have stepped since the last renewal, and the claimed batches must not use the old time.
    ///
    /// - Parameters:
    ///   - batches: the claimed batches.
    ///   - asked: the steady time right before the claim statement.
    package func claimed(_ batches: [ClaimedBatch], asked: Microseconds) {
        guard let databaseNow = batches.first?.claimedAt.microseconds else { return }
        let answered = Clocks.steady
        state.withLock { $0.databaseClock.read(databaseNow, asked: asked, answered: answered) }
    }

    /// Ends the lease after the control connection was lost: claims stop at once, submissions within one second.
    package func lost() {
        state.withLock { state in
            state.owner = nil
            state.guardian.controlLost(at: Clocks.steady)
        }
    }
}
