internal import FanfareCampaigns
internal import FanfareConfiguration
internal import FanfareFeedback
internal import FanfareStages
internal import Threading

/// The flow, in one direction: emit ▶ outbox ▶ plan ▶ batches ▶ claim ▶ render ▶ send ▶ record ▶ batch_log.
///
/// Emit happens in the users' transactions. A later stage never calls an earlier one: what follows from an answer (a retry,
/// a dead token) goes through the database, and a bell only says that it is worth looking.
struct Pipeline {
    /// The lease: without it nothing is claimed or sent.
    let control: any Stage
    /// Writes down what became of each delivery, and closes batches.
    let record: any Stage
    /// Sends; threads of its own for each app and environment.
    let send: any Stage
    /// Claims batches, reads tokens, renders; but those of an event that came alone.
    let claim: any Stage
    /// Walk large audiences.
    let slice: [any Stage]
    /// Hear of events, take them out of the outbox, find rules and small audiences; one of sets, one beside it of what fails in
    /// a set, or may; two that ask by query whom events are for.
    let plan: [any Stage]
    /// Fire campaigns that are due, and read their queries.
    let schedule: [any Stage]
    /// Rules, retention; nobody where a slicer does it on its session.
    let maintain: [any Stage]
    /// Hears foreign channels; nobody where none is configured.
    let listen: [any Stage]
    /// Tells applications what became of pushes, from the log.
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

    /// In the order of dependency: shut down in reverse, intake stops first, and every finished send is recorded.
    var stages: [any Stage] {
        [control, record, send, claim] + slice + plan + schedule + maintain + listen + [tell]
    }
}
