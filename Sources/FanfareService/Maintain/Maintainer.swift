internal import FanfareCampaigns
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Does the maintenance on a session and a thread of its own.
final class Maintainer: Stage {
    let name = LeaderRole.maintenance.rawValue

    private let context: StageContext
    private let stopping = StopSignal()

    init(context: StageContext) {
        self.context = context
    }

    func stop() {
        stopping.stop()
        context.bells.maintain.ring()
    }

    func run() {
        let session = Session(context.database.queue(name), of: context, stop: stopping)
        var maintenance = Maintenance(context: context)
        while !stopping.isStopped {
            context.pulses.beat(name)
            maintenance.takeTurn(in: session)
            context.bells.maintain.wait(timeout: maintenance.wait)
        }
        session.close()
    }
}

/// What one daemon does for all: checks rules and campaigns, ends what was aborted or cancelled, keeps the logs within their ring,
/// folds counters, and looks whether all is well and whether events were left in the quarantine, or wait for a query.
///
/// Led by whoever holds the advisory lock. Works in turns that are short, since the session may have other work too.
struct Maintenance {
    private static let interval = 500 * Micros.millisecond
    private static let choreInterval = Micros.minute
    /// How long one turn spends on unchecked rules.
    private static let share = 250 * Micros.millisecond

    private let context: StageContext
    /// The session's connection whose lock makes us the leader.
    private var leads: Int?
    /// The limits of apps' rules that this daemon has stored.
    private var limits: [String: [String]] = [:]
    private var dueAt: Microseconds = 0
    private var choresAt: Microseconds = 0
    private var auditAt: Microseconds = 0
    /// Only while we lead: what another daemon saw in between is not known.
    private var auditor: Auditor?
    private var sweeper: GateSweeper
    private var cancelSweeper: CancelSweeper
    /// Replaced, like the auditor, when this daemon loses the lead: failures count only while it leads.
    private var chores: Chores

    init(context: StageContext) {
        self.context = context
        chores = Chores(context: context)
        sweeper = GateSweeper(context: context)
        cancelSweeper = CancelSweeper(context: context)
    }

    /// How long until the next turn.
    var wait: Duration { .microseconds(max(0, dueAt - Clocks.steady)) }

    /// Does what there is to do now.
    mutating func takeTurn(in session: Session) {
        let isDone = session.attempt { connection throws(PostgresError) in
            try limitEvents(on: connection)
            if leads != session.generation {
                let isFree = try connection.run(TryLock(key: AdvisoryLock.maintenance)).first ?? false
                leads = isFree ? session.generation : nil
                auditor = nil
                chores = Chores(context: context)
                cancelSweeper = CancelSweeper(context: context)
                context.audit.clear()
            }
            context.status.lead(.maintenance, leads != nil)
            return leads == nil ? true : try lead(on: connection)
        }
        if isDone == nil { context.status.lead(.maintenance, false) }
        dueAt = Clocks.steady + (isDone ?? true ? Self.interval : 0)
    }

    /// Stores what the configuration says, of whichever daemon: the leader's may not say it.
    private mutating func limitEvents(on connection: PostgresConnection) throws(PostgresError) {
        let events = context.settings.events
        guard limits != events else { return }
        for (app, types) in events where limits[app] != types {
            guard try connection.run(LimitEvents(app: app, events: types)).first == true else { continue }
            context.logger.notice("the event types allowed for rules have changed", metadata: .init([.app: "\(app)"]))
        }
        limits = events
    }

    /// - Returns: whether no rules are left to check, and nothing that was aborted or cancelled is left to end.
    private mutating func lead(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        if try !connection.run(NextQuarantinedEvent()).isEmpty { context.bells.quarantine.ring() }
        if try connection.run(AreQuestionsDue()).first == true { context.ringForQueries() }
        // Before the rules: a campaign that is put into force brings one.
        try CampaignUpkeep(logger: context.logger)
            .takeTurn(on: connection, at: Timestamp(microseconds: context.lease.databaseNow))
        let areRulesChecked = try RuleChecker(logger: context.logger)
            .check(on: connection, until: Clocks.steady + Self.share)
        let areGatesSwept = try sweeper.takeTurn(on: connection)
        let areCancelsSwept = try cancelSweeper.takeTurn(on: connection)
        if Clocks.steady >= choresAt {
            choresAt = Clocks.steady + Self.choreInterval
            try chores.run(on: connection)
        }
        if Clocks.steady >= auditAt {
            auditAt = Clocks.steady + Auditor.interval
            var auditor = auditor ?? Auditor(context: context)
            try auditor.run(on: connection, at: Clocks.steady)
            self.auditor = auditor
        }
        return areRulesChecked && areGatesSwept && areCancelsSwept
    }
}
