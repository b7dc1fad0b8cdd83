internal import FanfareCore
internal import FanfareProviders
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// The outcomes that apply to all deliveries of an event in one batch.
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
    private var known: [Int64: Outcome?] = [:]

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

    /// Returns an event's outcome; nil if its deliveries are to be sent.
    mutating func outcome(of id: Int64) -> Outcome? {
        if let outcome = known[id] { return outcome }
        let outcome = freshOutcome(of: id)
        known[id] = outcome
        return outcome
    }

    private func freshOutcome(of id: Int64) -> Outcome? {
        // The log's partition was reused, so the event is more than a month old.
        guard let event = events[id] else { return .expired }
        let deadline = deadline(of: event)
        if deadline.at <= now { return deadline.outcome }
        if event.isCancelled || cancels.contains(event) { return .cancelled }
        let waited = event.plannedAt.microseconds - event.createdAt.microseconds > Self.backlogAge
        let isOutdated = newest[id].map { $0 > id } ?? false
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
