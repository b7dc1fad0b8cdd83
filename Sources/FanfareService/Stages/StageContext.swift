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
    let outage: DatabaseOutage
    let rules = RuleCache()
    let bells = StageBells()
    let lease = LeaseKeeper()
    let cancels = CancelIndex()
    let counters: PipelineCounters
    let audit: AuditBoard
    let fuses = PruneFuses()
    let directory = TargetDirectory()
    let status = StatusBoard()
    let pulses = Pulses()
    let frequentLines = FrequentLines()
    /// W, shared by all senders.
    let budget: BudgetKeeper
    /// As much again for what is marked as attempted before it is sent.
    let windows: BudgetKeeper

    init(logger: Logger, settings: StageSettings, database: DatabaseSessions, counters: PipelineCounters) {
        self.logger = logger
        inForce = Locked(settings)
        self.database = database
        outage = DatabaseOutage(logger: logger)
        self.counters = counters
        audit = AuditBoard(counters.metrics)
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

/// The bells by which a stage tells the next one that there may be work.
struct StageBells: Sendable {
    /// What the planner's session does not hear by itself.
    let plan = WakeSignal()
    let slice = Bell()
    let claim = Bell()
    let control = Bell()
    let maintain = Bell()
    /// Events were moved to the side queue.
    let aside = Bell()
}
