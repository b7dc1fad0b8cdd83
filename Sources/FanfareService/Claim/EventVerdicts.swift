internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// The verdict on all deliveries of an event in one batch.
enum EventVerdict {
    /// They have this outcome.
    case decided(Outcome)
    /// They are to be sent.
    case due(EventRow)
}

/// The verdicts on the events of one batch.
struct EventVerdicts {
    /// The time from emit to planning above which an event counts as delayed by an outage.
    private static let backlogAge = Micros.minute

    let cancels: CancelIndex
    // Only the needed parts of the rule: copying the whole definition costs more than the checks of a lone event.
    private let ttlOfRule: Microseconds?
    private let isSuperseded: Bool
    private let isBacklogDropped: Bool
    let batch: ClaimedBatch
    let events: [Int64: EventRow]
    /// The newest event of each event's collapse key; empty unless the rule drops older ones.
    let newest: [Int64: Int64]
    /// The database's time.
    let now: Microseconds
    private var known: [Int64: EventVerdict] = [:]
    /// The verdict that was asked for last: a broadcast asks for the same one at each delivery.
    private var last: (eventID: Int64, verdict: EventVerdict)?

    init(
        cancels: CancelIndex,
        rule: RuleDefinition,
        batch: ClaimedBatch,
        events: [Int64: EventRow],
        newest: [Int64: Int64],
        now: Microseconds
    ) {
        self.cancels = cancels
        ttlOfRule = rule.ttl.map { $0.seconds * Micros.second }
        (isSuperseded, isBacklogDropped) = (rule.supersede, rule.backlog == .drop)
        self.batch = batch
        self.events = events
        self.newest = newest
        self.now = now
    }

    /// Returns the verdict on an event, the same on every call.
    mutating func verdict(of id: Int64) -> EventVerdict {
        if let last, last.eventID == id { return last.verdict }
        let verdict = known[id] ?? freshVerdict(of: id)
        known[id] = verdict
        last = (id, verdict)
        return verdict
    }

    private func freshVerdict(of id: Int64) -> EventVerdict {
        // The log's partition was reused, so the event is more than a month old.
        guard let event = events[id] else { return .decided(.expired) }
        return outcome(of: event).map(EventVerdict.decided) ?? .due(event)
    }

    private func outcome(of event: EventRow) -> Outcome? {
        let deadline = deadline(of: event)
        if deadline.at <= now { return deadline.outcome }
        if event.isCancelled { return event.isRetracted ? .retracted : .cancelled }
        if let outcome = cancels.outcome(of: event) { return outcome }
        let waited = event.plannedAt.microseconds - event.createdAt.microseconds > Self.backlogAge
        let isOutdated = newest[event.id].map { $0 > event.id } ?? false
        if isOutdated && (isSuperseded || waited) { return .superseded }
        if waited && isBacklogDropped { return .backlogDropped }
        return nil
    }

    /// Returns the deadline of an event's deliveries.
    ///
    /// - Parameters:
    ///   - event: the event.
    ///   - messageEndsAt: the end of the message's validity, if the message itself sets one.
    /// - Returns: the deadline.
    func deadline(of event: EventRow, messageEndsAt: Microseconds? = nil) -> Deadline {
        Deadline(createdAt: begin(of: event).microseconds, ttl: timeToLive(of: event), messageEndsAt: messageEndsAt)
    }

    /// Returns the values that templates can use.
    func renderContext(of event: EventRow) -> RenderContext {
        event.renderContext(ttl: timeToLive(of: event), from: begin(of: event), now: now, history: batch.history)
    }

    private func timeToLive(of event: EventRow) -> Microseconds? {
        guard let ofEvent = event.ttl else { return ttlOfRule }
        return min(ofEvent, ttlOfRule ?? ofEvent)
    }

    /// Returns the start of an event's time to live for this batch.
    private func begin(of event: EventRow) -> Timestamp { batch.dueAt ?? event.createdAt }
}
