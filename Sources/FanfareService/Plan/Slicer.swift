internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Expands large audiences, slice by slice.
///
/// Batches and cursor are written in one transaction. After any interruption the expansion continues where it was, and
/// nothing is planned twice.
struct Slicer: Stage {
    /// The number of waiting batches of an app, lane and gate above which planning slows down.
    ///
    /// This is less than one slice makes. Several slices in a row at full speed, at the start of a broadcast, delayed
    /// one-off events by 60–90 ms at the 99th percentile, on kernels that schedule each of PostgreSQL's sessions as a
    /// group.
    private static let lead: Int64 = 20
    private static let longestRest = Micros.second / 2

    let context: StageContext
    /// Rung when there may be plans.
    let bell: Bell
    /// Rung for the batches of each slice.
    let claimer: Bell
    /// The number of this slicer; no two slicers work on the same plan at once.
    var index = 0
    /// Creates the maintenance that runs on its session too, between slices; nil for none.
    var makeMaintenance: (@Sendable () -> Maintenance)?
    private let stopping = StopSignal()

    var name: String { index == 0 ? "slicer" : "slicer-\(index)" }

    func stop() {
        stopping.stop()
        bell.ring()
    }

    func run() {
        var maintenance = makeMaintenance?()
        var turns = PlanTurns()
        context.takeTurns(on: context.database.slices(name), until: stopping) { session in
            if maintenance?.isDue ?? false { maintenance?.takeTurn(in: session) }
            let turn = session.attempt { connection throws(PostgresError) in
                try takeTurn(&turns, on: connection)
            }
            guard let turn else { return }
            let idle = maintenance?.wait ?? .seconds(86_400)
            switch turn {
            case .goOn: break
            case .rest(let time): bell.wait(timeout: min(time, idle))
            // Another session plans; what it leaves is not announced.
            case .nothingToDo where context.status.hasPlans: bell.wait(timeout: min(.seconds(1), idle))
            case .nothingToDo: context.sleep(name, on: bell, atMost: idle)
            }
        }
    }

    /// The action after a turn.
    private enum Turn {
        case goOn
        case rest(Duration)
        case nothingToDo
    }

    /// A planned slice.
    private struct Advance {
        let plan: OpenedPlan
        /// Whether it has deliveries and none of them is due yet.
        let isAhead: Bool
    }

    /// Plans one slice and returns whether to continue at once.
    ///
    /// While at least ``lead`` batches wait, planning takes only a quarter of the time, which leaves the rest to
    /// sending and one-off events. The same applies while it is ahead of recipients' local time. It never stops, and
    /// returns to full speed as soon as the senders have caught up.
    private func takeTurn(_ turns: inout PlanTurns, on connection: PostgresConnection) throws(PostgresError) -> Turn {
        let start = Clocks.steady
        let advanced = try connection.transaction { connection throws(PostgresError) in
            try advance(&turns, on: connection)
        }
        guard let advanced else { return .nothingToDo }
        claimer.ring()
        let plan = advanced.plan
        let gates = [plan.gate] + (plan.canary.map { [$0.heldGate] } ?? [])
        let waiting = SQL.areManyWaiting(plan.app, plan.lane, Self.lead, gates)
        if !advanced.isAhead {
            guard try connection.run(waiting).first ?? false else { return .goOn }
        }
        return .rest(.microseconds(min((Clocks.steady - start) * 3, Self.longestRest)))
    }

    /// Plans one slice of the next plan in turn.
    ///
    /// - Parameters:
    ///   - turns: advanced before anything can fail, so that a plan whose slice fails does not block the others.
    ///   - connection: a connection in a transaction.
    /// - Returns: the planned slice; nil if there is no plan.
    /// - Throws: errors of the server.
    private func advance(
        _ turns: inout PlanTurns,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Advance? {
        guard let plan = try connection.run(LockPlan(turns: turns)).first else { return nil }
        turns.took(plan)
        guard !plan.isCancelled else {
            _ = try connection.runReturningCount(
                AdvancePlan(plan: plan, cursor: plan.lastDevice, deliveries: 0, isCancelled: true)
            )
            return Advance(plan: plan, isAhead: false)
        }
        let statements = SliceStatements(plan: plan)
        let bound = try connection.query(statements.boundSQL, binds: statements.boundBinds).rows.first ?? []
        let numbers = bound.map { $0.flatMap { Int64($0) } }
        let upper = numbers.first.flatMap(\.self) ?? plan.lastDevice
        let scanned = numbers.last.flatMap(\.self) ?? 0
        let (deliveries, isDue) = try statements.expand(
            upTo: upper,
            of: scanned,
            batchSize: context.settings.batchSize,
            on: connection
        )
        _ = try connection.runReturningCount(AdvancePlan(plan: plan, cursor: upper, deliveries: deliveries))
        return Advance(plan: plan, isAhead: deliveries > 0 && !isDue)
    }
}
