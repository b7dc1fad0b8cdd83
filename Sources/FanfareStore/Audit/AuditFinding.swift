internal import FanfareCore
package import PostgresClient

/// What an audit looks for.
package enum AuditCheck: String, CaseIterable, Sendable {
    /// Events that no planner takes.
    case unplannedEvents = "unplanned_events"
    /// Batches that are due and nobody claims, that a daemon has which is gone, or that stand still while one has them.
    case overdueBatches = "overdue_batches"
    /// Large audiences whose expansion stands still.
    case stalledPlans = "stalled_plans"
    /// Closed batches whose deliveries and outcomes do not add up.
    case unbalancedBatches = "unbalanced_batches"

    /// How long a finding stands that cannot be looked at again, in seconds: whoever is asleep now shall see it.
    package var keepSeconds: Int64 { self == .unbalancedBatches ? 86_400 : 0 }
}

/// What one check found.
package struct AuditFinding: Equatable, Sendable {
    /// How many are named.
    package static let named = 5

    package let check: AuditCheck
    /// How many there are; at the limit of what one look takes there may be more.
    package let count: Int
    /// In words, with ids.
    package let detail: String
    /// Since when the oldest waits, by database time; nil if there is none, or where it means nothing.
    package var oldest: Timestamp?

    package init(check: AuditCheck, count: Int, detail: String, oldest: Timestamp? = nil) {
        self.check = check
        self.count = count
        self.detail = detail
        self.oldest = oldest
    }
}

extension AuditFinding {
    /// Judges events that wait.
    package init(unplanned events: [WaitingEvent]) {
        check = .unplannedEvents
        count = events.count
        oldest = events.map(\.createdAt).min()
        detail = events.isEmpty ? "none" : "no planner takes " + Self.list("event", events.map(\.id))
    }

    /// Judges batches that stand still.
    package init(overdue batches: [StandingBatch]) {
        check = .overdueBatches
        count = batches.count
        oldest = batches.map(\.since).min()
        let parts = StandingBatch.State.allCases.compactMap { state -> String? in
            let ids = batches.filter { $0.state == state }.map(\.id)
            return ids.isEmpty ? nil : state.words + ": " + Self.list("batch", ids)
        }
        detail = parts.isEmpty ? "none" : parts.joined(separator: "; ")
    }

    /// Judges plans that stand still.
    package init(stalled plans: [OpenedCursor]) {
        check = .stalledPlans
        count = plans.count
        oldest = plans.map(\.createdAt).min()
        let events = Self.list("event", plans.map(\.eventID))
        detail = plans.isEmpty ? "none" : "audience expansion stalled for " + events
    }

    /// Judges closed batches.
    ///
    /// - Parameter imbalances: by batch, in order.
    package init(unbalanced imbalances: [(batch: ClosedBatch, words: String)]) {
        check = .unbalancedBatches
        count = imbalances.count
        oldest = nil
        let named = imbalances.prefix(Self.named).map { imbalance in
            "batch \(imbalance.batch.id) of event \(imbalance.batch.eventID) \(imbalance.words)"
        }
        let more = imbalances.count > Self.named ? ["and \(imbalances.count - Self.named) more"] : []
        detail = imbalances.isEmpty ? "none" : (named + more).joined(separator: "; ")
    }

    /// `3 events: 7, 8, 9`, with the first few of many.
    private static func list(_ noun: String, _ ids: [Int64]) -> String {
        let plural = ids.count == 1 ? noun : noun == "batch" ? "batches" : noun + "s"
        let more = ids.count > named ? " …" : ""
        return "\(ids.count) \(plural): " + ids.sorted().prefix(named).map(String.init).joined(separator: ", ") + more
    }
}

/// A batch that is in the log.
///
/// All its deliveries are decided, and those to be tried again are in batches of their own. As those are looked at in turn, an
/// event's planned deliveries are then what was decided in the end and what still waits.
package struct ClosedBatch: Equatable, Sendable {
    package let id: Int64
    /// Its event, or the first of several.
    package let eventID: Int64
    package let deliveries: Int
    package let outcomes: [UInt8]
    /// The day on which it was closed, since 2020: retry batches are of that day.
    package let closedDay: Int32

    /// Deliveries that are to be tried again.
    package var retrying: Int64 {
        Int64(outcomes.count { OutcomeRange(code: $0) == .retrying })
    }

    /// What does not add up.
    ///
    /// - Parameter retried: deliveries of the batches that hold its next attempts.
    /// - Returns: what it is, in words; nil if all adds up.
    package func imbalance(retried: Int64) -> String? {
        if outcomes.count != deliveries { return "has \(deliveries) deliveries and \(outcomes.count) outcomes" }
        let open = outcomes.count { $0 == Outcome.pending.rawValue || $0 == Outcome.attempted.rawValue }
        if open > 0 { return "was closed with \(open) deliveries undecided" }
        if retrying != retried { return "has \(retrying) deliveries to try again, and \(retried) are in retry batches" }
        return nil
    }
}
