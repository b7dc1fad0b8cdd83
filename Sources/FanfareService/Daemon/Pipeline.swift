internal import FanfareConfiguration
internal import FanfareFeedback
internal import FanfareStages

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
    /// Fire due campaigns and run their queries, emit digests, and take events back.
    let schedule: [any Stage]
    /// Checks rules and applies retention; empty if a slicer does this on its own session.
    let maintain: [any Stage]
    /// Listens on foreign channels; empty if none is configured.
    let listen: [any Stage]
    /// Sends feedback webhooks, from the log.
    let tell: any Stage

    init(_ wiring: Wiring, feedback: FeedbackDispatcher) {
        let settings = wiring.context.settings
        let sessions = settings.sessions
        control = wiring.makeController()
        record = wiring.makeRecorder()
        send = wiring.senders
        claim = wiring.makeClaimer()
        slice = (0..<sessions.slicers).map { index in
            wiring.makeSlicer(index, maintains: index == 0 && !sessions.isMaintenanceApart)
        }
        let queries = [false, true].map { wiring.makeQueryPlanner(isForSlow: $0) }
        plan = queries + [wiring.makeQuarantinePlanner(), wiring.makePlanner()]
        schedule = [wiring.makeQueryReader(), wiring.makeScheduler()]
        maintain = sessions.isMaintenanceApart ? [wiring.makeMaintainer()] : []
        listen = settings.listen.isEmpty ? [] : [wiring.makeListener()]
        tell = feedback
    }

    /// The stages in the order of their dependencies: shutdown in reverse order stops intake first and records every
    /// finished send.
    var stages: [any Stage] {
        [control, record, send, claim] + slice + plan + schedule + maintain + listen + [tell]
    }
}
