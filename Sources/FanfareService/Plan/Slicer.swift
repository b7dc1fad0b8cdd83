internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Walks large audiences, slice by slice.
///
/// Batches and cursor move in one transaction: whatever happens in between, the expansion goes on where it was, and
/// nothing is planned twice.
final class Slicer: Stage {
    /// Batches of an app, lane and gate that wait for senders while planning gives way.
    ///
    /// Fewer than one slice makes: a few in a row at full speed, at the start of a broadcast, made one-off events wait 60–90 ms
    /// at the 99th percentile, where the kernel schedules each of PostgreSQL's sessions as a group.
    private static let lead: Int64 = 20
    private static let longestRest = Micros.second / 2

    let name: String
    private let context: StageContext
    private let stopping = StopSignal()
    private let wake: Bell
    private let maintains: Bool

    /// Makes a slicer.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - wake: rung when there may be plans.
    ///   - index: which of several; they never work at the same plan.
    ///   - maintains: whether its session is maintenance's too, between two slices.
    init(context: StageContext, wake: Bell, index: Int = 0, maintains: Bool = false) {
        name = index == 0 ? "slicer" : "slicer-\(index)"
        self.context = context
        self.wake = wake
        self.maintains = maintains
    }

    func stop() {
        stopping.stop()
        wake.ring()
    }

    func run() {
        let session = Session(context.database.slices(name), of: context, stop: stopping)
        var maintenance = maintains ? Maintenance(context: context) : nil
        var turns = PlanTurns()
        while !stopping.isStopped {
            context.pulses.beat(name)
            if maintenance?.wait == .zero { maintenance?.takeTurn(in: session) }
            let turn = session.attempt { connection throws(PostgresError) in
                try takeTurn(&turns, on: connection)
            }
            guard let turn else { continue }
            let idle = maintenance?.wait ?? .seconds(1)
            switch turn {
            case .goOn: break
            case .rest(let time): wake.wait(timeout: min(time, idle))
            case .nothingToDo: wake.wait(timeout: idle)
            }
        }
        session.close()
    }

    /// What to do after a turn.
    private enum Turn {
        case goOn
        case rest(Duration)
        case nothingToDo
    }

    /// A slice that was planned.
    private struct Advance {
        let plan: OpenedPlan
        /// Whether it has deliveries and none of them is due yet.
        let isAhead: Bool
    }

    /// Plans one slice, and says whether to go on at once.
    ///
    /// Beyond ``lead`` planning gives way to those who send, and to one-off events: it takes a quarter of the time; and so it does
    /// where it is ahead of recipients' time. It never stops, whoever the waiting batches are for, and goes on at full speed as soon as senders come near.
    private func takeTurn(_ turns: inout PlanTurns, on connection: PostgresConnection) throws(PostgresError) -> Turn {
        let start = Clocks.steady
        let advanced = try connection.transaction { connection throws(PostgresError) in
            try advance(&turns, on: connection)
        }
        guard let advanced else { return .nothingToDo }
        context.bells.claim.ring()
        let plan = advanced.plan
        let gates = [plan.gate] + (plan.canary.map { [$0.heldGate] } ?? [])
        let waiting = AreManyWaiting(app: plan.app, lane: plan.lane, gates: gates, limit: Self.lead)
        if !advanced.isAhead {
            guard try connection.run(waiting).first ?? false else { return .goOn }
        }
        return .rest(.microseconds(min((Clocks.steady - start) * 3, Self.longestRest)))
    }

    /// Plans one slice of the plan whose turn it is.
    ///
    /// - Parameters:
    ///   - turns: moved on before anything can fail, so that a plan whose slice does stops no other.
    ///   - connection: in a transaction.
    /// - Returns: what was done; nil if there is no plan.
    /// - Throws: what the database says.
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
        let bound = try connection.query(statements.boundSQL, binds: statements.boundBinds)
        let upper = bound.rows.first?.first.flatMap { $0 }.flatMap { Int64($0) } ?? plan.lastDevice
        let slice = statements.slice(upTo: upper, batchSize: context.settings.batchSize)
        let row = try connection.query(slice.sql, binds: slice.binds).rows.first ?? []
        let deliveries = row.first.flatMap { $0 }.flatMap { Int64($0) } ?? 0
        _ = try connection.runReturningCount(AdvancePlan(plan: plan, cursor: upper, deliveries: deliveries))
        return Advance(plan: plan, isAhead: deliveries > 0 && row.last == "f")
    }
}
