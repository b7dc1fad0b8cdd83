package import FanfareCore
package import FanfareStore
internal import PostgresClient
internal import Threading

/// The daemon's lease, as all stages see it.
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

    /// The current owner number; nil while there is no lease.
    package var owner: Int32? { state.withLock { $0.owner } }

    /// The time by the database's clock, in microseconds since 1970.
    package var databaseNow: Microseconds { state.withLock { $0.databaseClock.now(steady: Clocks.steady) } }

    /// The last time that the database's clock was set while this daemon was at work.
    package var clockStep: DatabaseClock.Step? { state.withLock { $0.databaseClock.lastStep } }

    /// Until when (steady clock) batches of an owner are ours to send; in the past if they are not.
    package func submitsUntil(owner: Int32) -> Microseconds {
        state.withLock { state in
            guard state.owner == owner || state.owner == nil else { return 0 }
            return state.guardian.submitsUntil ?? 0
        }
    }

    /// Until when they may be sent as far as cancellations are known; comes again where only those must be looked at.
    package func startsUntil(owner: Int32) -> Microseconds {
        state.withLock { state in
            guard state.owner == owner || state.owner == nil else { return 0 }
            return state.guardian.startsUntil ?? 0
        }
    }

    /// The cancellations were looked at.
    package func cancelsRead(startedAt: Microseconds) {
        state.withLock { $0.guardian.cancelsRead(startedAt: startedAt) }
    }

    /// A control connection was made: a new owner, a new guard.
    package func begin(owner: Int32, startedAt: Microseconds, databaseNow: Microseconds) {
        let answered = Clocks.steady
        state.withLock { state in
            state.owner = owner
            state.guardian = LeaseGuard()
            state.granted(startedAt: startedAt, databaseNow: databaseNow, answered: answered)
        }
    }

    /// The lease was renewed.
    package func renewed(startedAt: Microseconds, databaseNow: Microseconds) {
        let answered = Clocks.steady
        state.withLock { $0.granted(startedAt: startedAt, databaseNow: databaseNow, answered: answered) }
    }

    /// A statement said when it claimed batches: the database's clock may have been set since the lease was renewed, and what is
    /// claimed must not go by the old time.
    ///
    /// - Parameters:
    ///   - batches: what was claimed.
    ///   - asked: our steady clock right before.
    package func claimed(_ batches: [ClaimedBatch], asked: Microseconds) {
        guard let databaseNow = batches.first?.claimedAt.microseconds else { return }
        let answered = Clocks.steady
        state.withLock { $0.databaseClock.read(databaseNow, asked: asked, answered: answered) }
    }

    /// The control connection was lost: nothing more is claimed, and nothing submitted from a second later.
    package func lost() {
        state.withLock { state in
            state.owner = nil
            state.guardian.controlLost(at: Clocks.steady)
        }
    }
}
