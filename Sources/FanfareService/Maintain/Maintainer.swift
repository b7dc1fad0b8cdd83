internal import FanfareCampaigns
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Runs maintenance on its own session and thread.
struct Maintainer: Stage {
    let name = LeaderRole.maintenance.rawValue

    let context: StageContext
    let bell: Bell
    let makeMaintenance: @Sendable () -> Maintenance
    private let stopping = StopSignal()

    func stop() {
        stopping.stop()
        bell.ring()
    }

    func run() {
        var maintenance = makeMaintenance()
        context.takeTurns(on: context.database.queue(name), until: stopping) { session in
            maintenance.takeTurn(in: session)
            context.sleep(name, on: bell, atMost: maintenance.wait)
        }
    }
}

/// The maintenance that one daemon does for all: checks rules and campaigns, ends aborted and cancelled batches,
/// applies log retention, folds counters and reports, audits, and wakes the planners of quarantined events and due queries.
///
/// The leader is the daemon that holds the advisory lock. Turns are short, since the session may have other work too.
struct Maintenance {
    /// The time between two turns while the controller does not look, or a gate is aborting.
    private static let interval = 500 * Micros.millisecond
    /// The time between two turns while gates may be done, batches may be cancelled, or another daemon leads.
    private static let longInterval = 5 * Micros.second
    private static let choreInterval = Micros.minute
    /// The time between two turns that move reports into their log, so that each batch's row is written for many.
    private static let reportInterval = 2 * Micros.second
    /// The time that one turn spends on unchecked rules.
    private static let share = 250 * Micros.millisecond

    private let context: StageContext
    private let bells: StageBells
    private let orders: Orders
    private let figures: Figures
    /// The generation of the session whose lock makes this daemon the leader; nil if it does not lead.
    private var leads: Int?
    /// The event types allowed for apps' rules that this daemon has stored.
    private var limits: [String: [String]] = [:]
    private var dueAt: Microseconds = 0
    private var choresAt: Microseconds = 0
    private var auditAt: Microseconds = 0
    private var reportsAt: Microseconds = 0
    /// Nil unless this daemon leads, because it does not know what other leaders found.
    private var auditor: Auditor?
    private var sweeper: GateSweeper
    private var cancelSweeper: CancelSweeper
    /// Replaced, like the auditor, when this daemon stops leading: failures count only while it leads.
    private var chores: Chores
    private let conversions: ConversionReader

    init(context: StageContext, bells: StageBells, orders: Orders, figures: Figures) {
        (self.context, self.bells, self.orders, self.figures) = (context, bells, orders, figures)
        let (logger, counters) = (context.logger, figures.counters)
        chores = Chores(context: context, counters: counters)
        conversions = ConversionReader(context: context)
        sweeper = GateSweeper(orders, counters: counters, controller: bells.control, logger: logger)
        cancelSweeper = CancelSweeper(orders.cancels, counters: counters, claimer: bells.claim, logger: logger)
    }

    /// The time until the next turn, unless the bell is rung before.
    var wait: Duration { .microseconds(max(0, dueAt - Clocks.steady)) }

    /// Whether a turn is due, or the bell was rung since the last call.
    var isDue: Bool { bells.maintain.wait(timeout: .zero) || wait == .zero }

    /// Runs one turn.
    mutating func takeTurn(in session: Session) {
        let isDone = session.attempt { connection throws(PostgresError) in
            try limitEvents(on: connection)
            if leads != session.generation {
                let isFree =
                    try connection.run(SQL.tryLock(AdvisoryLock.family, AdvisoryLock.maintenance)).first ?? false
                leads = isFree ? session.generation : nil
                auditor = nil
                chores = Chores(context: context, counters: figures.counters)
                cancelSweeper = CancelSweeper(
                    orders.cancels,
                    counters: figures.counters,
                    claimer: bells.claim,
                    logger: context.logger
                )
                figures.audit.clear()
            }
            context.status.lead(.maintenance, leads != nil)
            return leads == nil ? true : try lead(on: connection)
        }
        if isDone == nil { context.status.lead(.maintenance, false) }
        dueAt = isDone == false ? 0 : isDone == nil ? Clocks.steady + Self.interval : nextTurn(after: Clocks.steady)
    }

    /// Returns when a turn is due after one that left nothing to do at once.
    private func nextTurn(after now: Microseconds) -> Microseconds {
        let gates = orders.current.gates
        guard context.lease.isWatched, gates.aborting.isEmpty else { return now + Self.interval }
        let isQuiet = leads != nil && gates.isEmpty && !cancelSweeper.isPending
        return isQuiet ? min(choresAt, auditAt) : now + Self.longInterval
    }

    /// Stores the event types from this daemon's configuration; every daemon does this, because the leader's may not
    /// have them.
    private mutating func limitEvents(on connection: PostgresConnection) throws(PostgresError) {
        let events = context.settings.events
        guard limits != events else { return }
        for (app, types) in events where limits[app] != types {
            guard try connection.run(SQL.limitEvents(app, types)).first == true else { continue }
            context.logger.notice("the event types allowed for rules have changed", metadata: .init([.app: "\(app)"]))
        }
        limits = events
    }

    /// - Returns: whether no rules are left to check, and no aborted or cancelled batches to end.
    private mutating func lead(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        if try !connection.run(SQL.nextQuarantinedEvent([])).isEmpty { bells.quarantine.ring() }
        if try connection.run(SQL.areQuestionsDue()).first == true { bells.ringForQueries() }
        // Campaigns come before rules, because activating a campaign creates a rule.
        try CampaignUpkeep(logger: context.logger)
            .takeTurn(on: connection, at: Timestamp(microseconds: context.lease.databaseNow))
        let areRulesChecked = try RuleChecker(logger: context.logger)
            .check(on: connection, until: Clocks.steady + Self.share)
        let areGatesSwept = try sweeper.takeTurn(on: connection)
        let areCancelsSwept = try cancelSweeper.takeTurn(on: connection)
        if Clocks.steady >= reportsAt {
            reportsAt = Clocks.steady + Self.reportInterval
            while try connection.run(SQL.foldReports()).first == Int64(ReportFolding.depth) {
                context.pulses.beat(LeaderRole.maintenance.rawValue)
            }
            while try connection.run(SQL.creditConversions()).first == Int64(ReportFolding.conversions) {
                context.pulses.beat(LeaderRole.maintenance.rawValue)
            }
        }
        try conversions.takeTurn(on: connection, at: Timestamp(microseconds: context.lease.databaseNow))
        if Clocks.steady >= choresAt {
            choresAt = Clocks.steady + Self.choreInterval
            try chores.run(on: connection)
        }
        if Clocks.steady >= auditAt {
            auditAt = Clocks.steady + Auditor.interval
            var auditor = auditor ?? Auditor(figures.audit, logger: context.logger)
            try auditor.run(on: connection, at: Clocks.steady)
            self.auditor = auditor
        }
        return areRulesChecked && areGatesSwept && areCancelsSwept
    }
}
