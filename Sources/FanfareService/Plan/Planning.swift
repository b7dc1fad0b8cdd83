internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging

/// What planning needs, whether in sets or event by event.
struct Planning: Sendable {
    let context: StageContext
    let bells: StageBells
    private let counters: PipelineCounters
    /// Plans the matches that a statement leaves open.
    var audiences: AudiencePlanner

    init(context: StageContext, bells: StageBells, counters: PipelineCounters, rules: RuleCache) {
        (self.context, self.bells, self.counters) = (context, bells, counters)
        audiences = AudiencePlanner(context: context, rules: rules)
    }

    /// Wakes the stages that continue what was committed, and counts and logs the events that left the outbox.
    func committed(_ round: PlanRoundSummary, _ counts: PlannedCounts, isLeftToClaim: Bool) {
        if isLeftToClaim { bells.claim.ring() }
        if counts.plans > 0 { bells.ringForPlans() }
        if counts.queries > 0 { bells.ringForQueries() }
        counters.ended(round.fates)
        log(round.ended)
    }

    /// Counts an event that was refused.
    func refused() { counters.ended([Int32(EventFate.refused.rawValue): 1]) }

    /// Logs one line for each event without deliveries, as far as ``FrequentLines`` admits it.
    private func log(_ events: [EndedEvent]) {
        for event in events {
            guard let fate = Int16(exactly: event.fate).flatMap(EventFate.init(rawValue:)) else { continue }
            let level: Logger.Level = fate == .refused ? .warning : .info
            let message: Logger.Message = "nothing is sent of an event"
            let kind = LineKind(
                level: level,
                message: message.description,
                app: "",
                provider: "",
                rule: event.type,
                reason: fate.name
            )
            guard context.logger.logLevel <= level, context.frequentLines.admit(kind) else { continue }
            var metadata = Logger.Metadata([
                .eventID: "\(event.eventID)", .eventType: "\(event.type)", .eventFate: "\(fate.name)",
            ])
            if let detail = event.detail { metadata[.detail] = "\(detail)" }
            context.logger.log(level: level, message, metadata: metadata)
        }
    }
}
