internal import FanfareCampaigns
internal import FanfareConfiguration
internal import FanfareFeedback
internal import FanfareSending
internal import FanfareStages
internal import Threading

/// The stages, in one direction: emit ▶ outbox ▶ plan ▶ batches ▶ claim ▶ render ▶ send ▶ record ▶ batch_log.
///
/// Events are emitted in the users' transactions. A later stage never calls an earlier one: the consequences of an
/// answer (a retry, an invalid token) go through the database, and a bell only signals that there may be work.
struct Pipeline {
    /// Holds the lease; without it nothing is claimed or sent.
    let control: any Stage
    /// Records the outcomes of deliveries and closes batches.
    let record: any Stage
    /// Sends pushes, on separate threads for each app, provider and environment.
    let send: any Stage
    /// Claims batches, reads tokens and renders messages, except for lone events, whose batches the planner claims.
    let claim: any Stage
    /// Expand large audiences in slices.
    let slice: [any Stage]
    /// Take events from the outbox, match rules and expand small audiences.
    ///
    /// Two planners run `users_sql`, one plans quarantined events singly, one plans sets of events.
    let plan: [any Stage]
    /// Fire due campaigns and run their queries.
    let schedule: [any Stage]
    /// Checks rules and applies retention; empty if a slicer does this on its own session.
    let maintain: [any Stage]
    /// Listens on foreign channels; empty if none is configured.
    let listen: [any Stage]
    /// Sends feedback webhooks, from the log.
    let tell: any Stage

    init(context: StageContext, senders: SenderPools, results: Mailbox<RecorderMessage>, feedback: FeedbackDispatcher) {
        control = Controller(context: context)
        record = Recorder(context: context, mailbox: results)
        send = senders
        claim = Claimer(context: context, pools: senders, recorder: results)
        let sessions = context.settings.sessions
        slice = (0..<sessions.slicers).map { index in
            let maintains = index == 0 && !sessions.isMaintenanceApart
            return Slicer(context: context, wake: context.bells.slice, index: index, maintains: maintains)
        }
        let planner = Planner(context: context, wake: context.bells.plan) {
            LoneClaimer(context: context, pools: senders, recorder: results)
        }
        let costs = QueryCosts()
        let queries = [false, true].map { QueryPlanner(context: context, costs: costs, isForSlow: $0) }
        plan = queries + [QuarantinePlanner(context: context), planner]
        let running = RunningQuery()
        schedule = [QueryReader(context: context, running: running), Scheduler(context: context, running: running)]
        maintain = sessions.isMaintenanceApart ? [Maintainer(context: context)] : []
        listen = context.settings.listen.isEmpty ? [] : [Listener(context: context)]
        tell = feedback
    }

    /// The stages in the order of their dependencies: shutdown in reverse order stops intake first and records every
    /// finished send.
    var stages: [any Stage] {
        [control, record, send, claim] + slice + plan + schedule + maintain + listen + [tell]
    }
}
