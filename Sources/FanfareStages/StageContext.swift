package import Logging
package import PostgresClient
package import Threading

/// What every stage needs to run: its log, settings, sessions, pulse and lease.
///
/// Everything else that a stage reads, counts or wakes is a parameter of its own.
package struct StageContext: Sendable {
    package let logger: Logger
    package let frequentLines = FrequentLines()
    private let inForce: Locked<StageSettings>
    package let database: DatabaseSessions
    package let outage: DatabaseOutage
    package let pulses = Pulses()
    package let lease = LeaseState()
    package let status = DaemonState()

    package init(logger: Logger, settings: StageSettings, database: DatabaseSessions) {
        self.logger = logger
        inForce = Locked(settings)
        self.database = database
        outage = DatabaseOutage(logger: logger)
    }

    /// The current settings; a reload may change them between two reads.
    package var settings: StageSettings { inForce.withLock { $0 } }

    /// Applies the settings that may change while the stages run.
    package func apply(_ fresh: StageSettings) {
        inForce.withLock { $0.takeLive(from: fresh) }
    }

    /// Takes a stage's turns on its session until the stage is stopped, and closes the session.
    ///
    /// Each turn beats the stage's pulse first. A turn sleeps itself if it finds nothing to do.
    ///
    /// - Parameters:
    ///   - options: the options of the session, which name the stage.
    ///   - stopping: the signal that ends the turns and the session's waits.
    ///   - turn: one turn.
    ///   - end: the last use of the session, after the last turn.
    package func takeTurns(
        on options: PostgresOptions,
        until stopping: StopSignal,
        turn: (Session) -> Void,
        end: (Session) -> Void = { _ in }
    ) {
        let session = Session(options, of: self, stop: stopping)
        while !stopping.isStopped {
            pulses.beat(session.stage)
            turn(session)
        }
        end(session)
        session.close()
    }

    /// Returns the current owner number; without a lease, sleeps a moment and returns nil.
    package func owner(orSleepingBy bell: Bell) -> Int32? {
        let owner = lease.owner
        if owner == nil { bell.wait(timeout: .milliseconds(200)) }
        return owner
    }

    /// Sleeps without work until the bell rings.
    ///
    /// The controller rings it for work. If the controller does not look at the database, a sleep is one second at most.
    ///
    /// - Parameters:
    ///   - stage: the name of the stage, whose pulse goes on.
    ///   - bell: the stage's bell.
    ///   - limit: the longest sleep.
    package func sleep(_ stage: String, on bell: Bell, atMost limit: Duration = .seconds(86_400)) {
        let end = ContinuousClock.now + limit
        repeat {
            pulses.beat(stage)
            let time = Duration.seconds(lease.isWatched ? 10 : 1)
            if bell.wait(timeout: max(.zero, min(time, end - .now))) { return }
        } while lease.isWatched && .now < end
    }

    /// Sleeps on the stage's own thread to let others work.
    package func linger(_ duration: Duration) {
        Bell().wait(timeout: duration)
    }
}

/// The bells by which a stage tells the next one that there may be work.
package struct StageBells: Sendable {
    /// For changes that the planner's session does not get by LISTEN.
    package let plan = WakeSignal()
    /// One for each slicer: a bell wakes one thread.
    package let slices: [Bell]
    package let claim = Bell()
    package let control = Bell()
    package let maintain = Bell()
    /// Campaigns, digests, retractions or campaigns' queries are due.
    package let schedule = Bell()
    /// Runs wait for their campaigns' queries.
    package let read = Bell()
    /// Events were moved to the quarantine.
    package let quarantine = Bell()
    /// Events wait for their rule's query.
    package let queries = Bell()
    /// Events wait for the query of a rule whose query is slow.
    package let slowQueries = Bell()

    /// Whether maintenance runs on a session of its own, not on a slicer's.
    private let isMaintenanceApart: Bool

    package init(slicers: Int = 1, isMaintenanceApart: Bool = true) {
        slices = (0..<slicers).map { _ in Bell() }
        self.isMaintenanceApart = isMaintenanceApart
    }

    /// Wakes the slicers, because there may be large audiences to expand.
    package func ringForPlans() {
        for bell in slices { bell.ring() }
    }

    /// Wakes maintenance.
    package func ringForUpkeep() {
        // On a slicer's session it looks whether its own bell has rung, once the slicer's has ended the sleep.
        maintain.ring()
        if !isMaintenanceApart { slices.first?.ring() }
    }

    /// Wakes both query planners, because events may wait for a query.
    package func ringForQueries() {
        queries.ring()
        slowQueries.ring()
    }
}
