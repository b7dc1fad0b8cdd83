internal import FanfareCore
package import PostgresClient

/// The checks of an audit.
package enum AuditCheck: String, CaseIterable, Sendable {
    /// Events that no planner takes from the outbox.
    case unplannedEvents = "unplanned_events"
    /// Batches that are due but not claimed, that belong to a dead daemon, or that make no progress in flight.
    case overdueBatches = "overdue_batches"
    /// Large audiences whose expansion makes no progress.
    case stalledPlans = "stalled_plans"
    /// Closed batches whose numbers of deliveries and outcomes do not match.
    case unbalancedBatches = "unbalanced_batches"

    /// How long a finding that cannot be checked again is kept, in seconds, so that an operator sees it the next day.
    package var keepSeconds: Int64 { self == .unbalancedBatches ? 86_400 : 0 }
}

/// The result of one check.
package struct AuditFinding: Equatable, PostgresBind {
    /// How many ids the detail lists.
    package static let named = 5

    package let check: AuditCheck
    /// How many objects were found; there may be more if the count reaches the check's limit.
    package let count: Int
    /// A readable description, with ids.
    package let detail: String
    /// Since when the oldest one has been waiting, in database time; nil if there is none, or if the check has no
    /// times.
    package var oldest: Timestamp?

    package init(check: AuditCheck, count: Int, detail: String, oldest: Timestamp? = nil) {
        self.check = check
        self.count = count
        self.detail = detail
        self.oldest = oldest
    }

    package func append(to binds: inout PostgresBinds) {
        binds.append(check.rawValue)
        binds.append(Int64(count))
        binds.append(detail)
        binds.append(check.keepSeconds)
    }
}

extension AuditFinding {
    /// Creates the finding for unplanned events.
    package init(unplanned events: [WaitingEvent]) {
        check = .unplannedEvents
        count = events.count
        oldest = events.map(\.createdAt).min()
        detail = events.isEmpty ? "none" : "no planner takes " + Self.list("event", events.map(\.id))
    }

    /// Creates the finding for batches that make no progress.
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

    /// Creates the finding for plans that make no progress.
    package init(stalled plans: [OpenedCursor]) {
        check = .stalledPlans
        count = plans.count
        oldest = plans.map(\.createdAt).min()
        let events = Self.list("event", plans.map(\.eventID))
        detail = plans.isEmpty ? "none" : "audience expansion stalled for " + events
    }

    /// Creates the finding for closed batches.
    ///
    /// - Parameter imbalances: the batches with their mismatches, in order.
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

    /// Formats ids, as in `3 events: 7, 8, 9`; only the first few are listed.
    private static func list(_ noun: String, _ ids: [Int64]) -> String {
        let plural = ids.count == 1 ? noun : noun == "batch" ? "batches" : noun + "s"
        let more = ids.count > named ? " …" : ""
        return "\(ids.count) \(plural): " + ids.sorted().prefix(named).map(String.init).joined(separator: ", ") + more
    }
}

/// A batch in the log.
///
/// Each of its deliveries has an outcome, and those to be retried are in batches of their own. Since these batches are
/// checked as well, all of an event's planned deliveries either have a final outcome or are still waiting.
package struct ClosedBatch: Equatable, Sendable {
    package let id: Int64
    /// The batch's event, or the first of several.
    package let eventID: Int64
    package let deliveries: Int
    package let outcomes: [UInt8]
    /// The day on which it was closed, since 2020; its retry batches were created on that day.
    package let closedDay: Int32

    /// The number of deliveries to be retried.
    package var retrying: Int64 {
        Int64(outcomes.count { OutcomeRange(code: $0) == .retrying })
    }

    /// Describes a mismatch between deliveries and outcomes.
    ///
    /// - Parameter retried: the number of deliveries in the batches of its next attempts.
    /// - Returns: a description; nil if the numbers match.
    package func imbalance(retried: Int64) -> String? {
        if outcomes.count != deliveries { return "has \(deliveries) deliveries and \(outcomes.count) outcomes" }
        let open = outcomes.count { $0 == Outcome.pending.rawValue || $0 == Outcome.attempted.rawValue }
        if open > 0 { return "was closed with \(open) deliveries undecided" }
        if retrying != retried { return "has \(retrying) deliveries to try again, and \(retried) are in retry batches" }
        return nil
    }
}
