internal import FanfareCore
internal import Logging
internal import PostgresClient
internal import Threading

/// What all stages share.
///
/// Values, and a few objects that lock themselves.
struct StageContext: Sendable {
    let logger: Logger
    private let inForce: Locked<StageSettings>
    let database: DatabaseSessions
    let rules = RuleCache()
    let bells = StageBells()
    let lease = LeaseKeeper()
    let cancels = CancelIndex()
    let counters: PipelineCounters
    let fuses = PruneFuses()
    let directory = TargetDirectory()
    let status = StatusBoard()
    let pulses = Pulses()
    /// W, shared by all senders.
    let budget: BudgetKeeper
    /// As much again for what is marked as attempted before it is sent.
    let windows: BudgetKeeper

    init(logger: Logger, settings: StageSettings, database: DatabaseSessions, counters: PipelineCounters) {
        self.logger = logger
        inForce = Locked(settings)
        self.database = database
        self.counters = counters
        budget = BudgetKeeper(capacity: settings.unrecorded)
        windows = BudgetKeeper(capacity: settings.unrecorded)
    }

    /// The settings to go by now; a reload may change them between two looks.
    var settings: StageSettings { inForce.withLock { $0 } }

    /// Takes over what may change while the stages run.
    func apply(_ fresh: StageSettings) {
        inForce.withLock { $0.takeLive(from: fresh) }
    }

    /// Lets others work for a moment, on a stage's own thread.
    func linger(_ duration: Duration) {
        Bell().wait(timeout: duration)
    }
}

/// Who shares a half of W: one app's use of one provider.
struct ProviderKey: Hashable, Sendable {
    let app: String
    let provider: String
}

/// The bells by which a stage tells the next one that there may be work.
struct StageBells: Sendable {
    let plan = Bell()
    let slice = Bell()
    let claim = Bell()
    let control = Bell()
    let maintain = Bell()
}

/// Makes the commit of the current transaction wait until it is on the disk.
struct FlushCommit: PostgresStatement {
    static let name = "flush_commit"
    static let sql = "SELECT FROM set_config('synchronous_commit', 'on', true)"

    typealias Row = Void
}

/// The daemon's lease, as all stages see it.
final class LeaseKeeper: Sendable {
    private struct State {
        var owner: Int32?
        var guardian = LeaseGuard()
        var databaseClock = DatabaseClock(wall: Clocks.wall, steady: Clocks.steady)
    }

    private let state = Locked(State())

    /// The current owner number; nil while there is no lease.
    var owner: Int32? { state.withLock { $0.owner } }

    /// The time by the database's clock, in microseconds since 1970.
    var databaseNow: Microseconds { state.withLock { $0.databaseClock.now(steady: Clocks.steady) } }

    /// Until when (steady clock) batches of an owner are ours to send; in the past if they are not.
    func submitsUntil(owner: Int32) -> Microseconds {
        state.withLock { state in
            guard state.owner == owner || state.owner == nil else { return 0 }
            return state.guardian.submitsUntil ?? 0
        }
    }

    /// Until when they may be sent as far as cancellations are known; comes again where only those must be looked at.
    func startsUntil(owner: Int32) -> Microseconds {
        state.withLock { state in
            guard state.owner == owner || state.owner == nil else { return 0 }
            return state.guardian.startsUntil ?? 0
        }
    }

    /// The cancellations were looked at.
    func cancelsRead(startedAt: Microseconds) {
        state.withLock { $0.guardian.cancelsRead(startedAt: startedAt) }
    }

    /// A control connection was made: a new owner, a new guard.
    func begin(owner: Int32, startedAt: Microseconds, databaseNow: Microseconds) {
        let answered = Clocks.steady
        state.withLock { state in
            state.owner = owner
            state.guardian = LeaseGuard()
            state.guardian.renewStarted(at: startedAt)
            state.guardian.renewSucceeded(startedAt: startedAt)
            state.databaseClock.read(databaseNow, asked: startedAt, answered: answered)
        }
    }

    /// The lease was renewed.
    func renewed(startedAt: Microseconds, databaseNow: Microseconds) {
        let answered = Clocks.steady
        state.withLock { state in
            state.guardian.renewStarted(at: startedAt)
            state.guardian.renewSucceeded(startedAt: startedAt)
            state.databaseClock.read(databaseNow, asked: startedAt, answered: answered)
        }
    }

    /// The control connection was lost: nothing more is claimed, and nothing submitted from a second later.
    func lost() {
        state.withLock { state in
            state.owner = nil
            state.guardian.controlLost(at: Clocks.steady)
        }
    }
}

/// W, and who waits for a part of it.
final class BudgetKeeper: Sendable {
    private let budget: Locked<UnrecordedBudget<ProviderKey>>
    private let waiting = Locked<[String: @Sendable () -> Void]>([:])

    init(capacity: Int) {
        budget = Locked(UnrecordedBudget(capacity: capacity))
    }

    /// Takes up to `wanted` slots.
    func acquire(_ wanted: Int, for key: ProviderKey, lane: Lane) -> Int {
        budget.withLock { $0.acquire(wanted, for: key, lane: lane) }
    }

    /// Takes slots for a whole batch, or none.
    ///
    /// A batch that is larger than all its provider may have takes what there is as soon as nothing else of that provider
    /// holds any: it could never go otherwise.
    ///
    /// - Returns: how many were taken; nil if the batch has to wait.
    func acquireWhole(_ count: Int, for share: BudgetShare) -> Int? {
        budget.withLock { budget in
            let taken = budget.acquire(count, for: share.key, lane: share.lane)
            let isAlone = taken > 0 && taken == budget.held(by: share.key)
            guard taken == count || isAlone else {
                budget.release(taken, for: share.key, lane: share.lane)
                return nil
            }
            budget.setWork(false, for: share.key, lane: share.lane)
            return taken
        }
    }

    /// Says whether a provider has work in a lane.
    func setWork(_ hasWork: Bool, for key: ProviderKey, lane: Lane) {
        budget.withLock { $0.setWork(hasWork, for: key, lane: lane) }
    }

    /// Gives slots back and wakes who waits for some.
    func release(_ slots: [BudgetShare: Int]) {
        guard !slots.isEmpty else { return }
        budget.withLock { budget in
            for (share, count) in slots { budget.release(count, for: share.key, lane: share.lane) }
        }
        let wakers = waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting
        }
        for wake in wakers.values { wake() }
    }

    /// Runs a closure at the next release.
    ///
    /// - Parameters:
    ///   - waiter: who waits; looks again and again, and has one closure at a time, the last.
    ///   - wake: what wakes it.
    func whenReleased(for waiter: String, _ wake: @escaping @Sendable () -> Void) {
        waiting.withLock { $0[waiter] = wake }
    }

    /// Half of W: a quarter of it answered makes a checkpoint due.
    var checkpointShare: Int { budget.withLock { $0.capacity / 2 } }
}

/// Who holds a part of W.
struct BudgetShare: Hashable, Sendable {
    let key: ProviderKey
    let lane: Lane
}

/// The targets there are, by id.
final class TargetDirectory: Sendable {
    private let targets = Locked<[Int16: Target]>([:])

    /// All targets known.
    var all: [Int16: Target] { targets.withLock { $0 } }

    /// Takes in what the database has.
    func replace(_ all: [Target]) {
        targets.withLock { targets in
            targets = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
        }
    }

    /// The target of the same app and platform in the other environment; nil for audiences that a provider keeps.
    func otherEnvironment(of target: Target) -> Int16? {
        targets.withLock { targets in
            targets.values.first {
                $0.app == target.app && $0.platform == target.platform && $0.nativeKey == target.nativeKey
                    && $0.environment != target.environment
            }?.id
        }
    }
}
