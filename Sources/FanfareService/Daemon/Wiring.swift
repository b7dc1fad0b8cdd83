internal import FanfareCampaigns
internal import FanfareConfiguration
internal import FanfareSending
internal import FanfareStages
internal import Threading

/// What each stage is given: only here is everything together that stages share.
struct Wiring {
    let context: StageContext
    let limits: Limits
    let senders: SenderPools
    private let bells: StageBells
    private let orders: Orders
    private let catalog = Catalog()
    private let figures: Figures
    private let results = Mailbox<RecorderMessage>()
    private let costs = QueryCosts()
    private let running = RunningQuery()

    init(context: StageContext, counters: PipelineCounters, apps: [String: AppSenders]) {
        bells = StageBells(
            slicers: context.settings.sessions.slicers,
            isMaintenanceApart: context.settings.sessions.isMaintenanceApart
        )
        (self.context, orders, figures) = (context, Orders(), Figures(counters))
        limits = Limits(capacity: context.settings.unrecorded)
        let links = SenderLinks(
            context: context,
            orders: orders,
            budget: limits.budget,
            counters: counters,
            claimer: bells.claim,
            recorder: results
        )
        senders = SenderPools(apps, links: links)
    }

    /// Applies changed settings.
    func apply(_ settings: StageSettings) {
        context.apply(settings)
        bells.ringForUpkeep()
    }

    func makeController() -> Controller {
        Controller(context: context, bells: bells, orders: orders, fuses: limits.fuses, figures: figures)
    }

    func makeRecorder() -> Recorder {
        Recorder(context: context, bells: bells, limits: limits, counters: figures.counters, mailbox: results)
    }

    func makeClaimer() -> Claimer {
        Claimer(
            context: context,
            orders: orders,
            catalog: catalog,
            windows: limits.windows,
            bell: bells.claim,
            pools: senders,
            handover: handover
        )
    }

    func makePlanner() -> Planner {
        Planner(planning: planning, orders: orders) {
            LoneClaimer(
                context: context,
                orders: orders,
                catalog: catalog,
                claimer: bells.claim,
                pools: senders,
                handover: handover
            )
        }
    }

    func makeQuarantinePlanner() -> QuarantinePlanner { QuarantinePlanner(planning: planning) }

    /// Returns the planner of fast queries, or that of slow ones.
    func makeQueryPlanner(isForSlow: Bool) -> QueryPlanner {
        QueryPlanner(context: context, bells: bells, rules: catalog.rules, costs: costs, isForSlow: isForSlow)
    }

    /// Returns a slicer, which may run maintenance on its session too.
    func makeSlicer(_ index: Int, maintains: Bool) -> Slicer {
        var slicer = Slicer(context: context, bell: bells.slices[index], claimer: bells.claim, index: index)
        if maintains { slicer.makeMaintenance = makeMaintenance }
        return slicer
    }

    func makeMaintainer() -> Maintainer {
        Maintainer(context: context, bell: bells.maintain, makeMaintenance: makeMaintenance)
    }

    func makeQueryReader() -> QueryReader { QueryReader(context: context, bell: bells.read, running: running) }

    func makeScheduler() -> Scheduler {
        Scheduler(
            context: context,
            bell: bells.schedule,
            reader: bells.read,
            claimer: bells.claim,
            rules: catalog.rules,
            running: running
        )
    }

    func makeListener() -> Listener { Listener(context: context, planner: bells.plan) }

    private var planning: Planning {
        Planning(context: context, bells: bells, counters: figures.counters, rules: catalog.rules)
    }

    private var handover: Handover { Handover(context: context, recorder: results) }

    @Sendable private func makeMaintenance() -> Maintenance {
        Maintenance(context: context, bells: bells, orders: orders, figures: figures)
    }
}
