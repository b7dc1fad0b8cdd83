package import Logging
internal import PostgresClient
package import Threading

/// What all stages share.
///
/// Values, and a few objects that lock themselves.
package struct StageContext: Sendable {
    package let logger: Logger
    private let inForce: Locked<StageSettings>
    package let database: DatabaseSessions
    package let outage: DatabaseOutage
    package let rules = RuleCache()
    package let bells = StageBells()
    package let lease = LeaseState()
    package let cancels = CancelIndex()
    package let gates = GateSnapshot()
    package let rates = RateSnapshot()
    package let quiet = QuietApps()
    package let preferences = PreferenceVersions()
    package let counters: PipelineCounters
    package let traffic: TrafficTally
    package let audit: AuditFigures
    package let fuses = PruneFuses()
    package let directory = TargetDirectory()
    package let status = DaemonState()
    package let pulses = Pulses()
    package let frequentLines = FrequentLines()
    /// W, shared by all senders.
    package let budget: InFlightBudget
    /// As much again for what is marked as attempted before it is sent.
    package let windows: InFlightBudget

    package init(logger: Logger, settings: StageSettings, database: DatabaseSessions, counters: PipelineCounters) {
        self.logger = logger
        inForce = Locked(settings)
        self.database = database
        outage = DatabaseOutage(logger: logger)
        self.counters = counters
        traffic = TrafficTally(counters)
        audit = AuditFigures(counters.metrics)
        budget = InFlightBudget(capacity: settings.unrecorded)
        windows = InFlightBudget(capacity: settings.unrecorded)
    }

    /// The settings to go by now; a reload may change them between two looks.
    package var settings: StageSettings { inForce.withLock { $0 } }

    /// Takes over what may change while the stages run.
    package func apply(_ fresh: StageSettings) {
        inForce.withLock { $0.takeLive(from: fresh) }
    }

    /// Says to both who ask rules' queries that events may wait for one.
    package func ringForQueries() {
        bells.queries.ring()
        bells.slowQueries.ring()
    }

    /// Lets others work for a moment, on a stage's own thread.
    package func linger(_ duration: Duration) {
        Bell().wait(timeout: duration)
    }
}

/// The bells by which a stage tells the next one that there may be work.
package struct StageBells: Sendable {
    /// What the planner's session does not hear by itself.
    package let plan = WakeSignal()
    package let slice = Bell()
    package let claim = Bell()
    package let control = Bell()
    package let maintain = Bell()
    /// Runs wait for their campaigns' queries to be read.
    package let read = Bell()
    /// Events were moved to the quarantine.
    package let quarantine = Bell()
    /// Events wait for their rule's query.
    package let queries = Bell()
    /// The same, of rules whose query is slow.
    package let slowQueries = Bell()
}
