import FanfareCore
import PostgresClient
import Threading

@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Stages and parts of stages, as the daemon builds them.
extension World {
    var counters: PipelineCounters { figures.counters }

    /// The synchronization of this daemon's fuses.
    var fuseSync: FuseSync { FuseSync(limits.fuses, logger: context.logger) }

    private var planning: Planning {
        Planning(context: context, bells: bells, counters: counters, rules: catalog.rules)
    }

    func loop(lone: LoneClaimer? = nil, lost: Int? = nil) -> PlannerLoop {
        PlannerLoop(planning, orders, lone: lone, lost: lost)
    }

    func quarantine() -> Quarantine { Quarantine(planning) }

    /// A planner that leaves all batches to the claimer.
    func planner() -> Planner { Planner(planning: planning, orders: orders) }

    func slicer() -> Slicer { Slicer(context: context, bell: bells.slices[0], claimer: bells.claim) }

    func loneClaimer(_ pools: SenderPools, _ recorder: Mailbox<RecorderMessage>, patience: Int64) -> LoneClaimer {
        LoneClaimer(
            context: context,
            orders: orders,
            catalog: catalog,
            claimer: bells.claim,
            pools: pools,
            handover: Handover(context: context, recorder: recorder),
            patience: patience
        )
    }

    func queryRunner(_ costs: QueryCosts = QueryCosts(), isForSlow: Bool = false) -> QueryRunner {
        QueryRunner(context: context, bells: bells, rules: catalog.rules, costs: costs, isForSlow: isForSlow)
    }

    func scheduler(_ running: RunningQuery = RunningQuery()) -> Scheduler {
        Scheduler(
            context: context,
            bell: bells.schedule,
            reader: bells.read,
            claimer: bells.claim,
            rules: catalog.rules,
            running: running
        )
    }

    func maintainer() -> Maintainer {
        Maintainer(context: context, bell: bells.maintain) { [context, bells, orders, figures] in
            Maintenance(context: context, bells: bells, orders: orders, figures: figures)
        }
    }

    func chores() -> Chores { Chores(context: context, counters: counters) }

    func auditor() -> Auditor { Auditor(figures.audit, logger: context.logger) }

    func recorder(of mailbox: Mailbox<RecorderMessage>) -> Recorder {
        Recorder(context: context, bells: bells, limits: limits, counters: counters, mailbox: mailbox)
    }

    func links(_ recorder: Mailbox<RecorderMessage>) -> SenderLinks {
        SenderLinks(
            context: context,
            orders: orders,
            budget: limits.budget,
            counters: counters,
            claimer: bells.claim,
            recorder: recorder
        )
    }
}

extension Controller {
    /// Creates the stage of a daemon that has no other.
    init(alone context: StageContext) {
        self.init(
            context: context,
            bells: StageBells(),
            orders: Orders(),
            fuses: PruneFuses(),
            figures: Figures(PipelineCounters())
        )
    }
}
