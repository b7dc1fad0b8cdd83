/// Where a planning session stands in the outbox: transaction ids, not row ids, are what a pass goes by.
///
/// A **pass** is rounds until one finds fewer events than its limit. When it ends, what was open or not begun at the
/// snapshot of its first round is all that the next pass has to look at: exact with commits out of order, and no
/// slower under somebody's old snapshot. What another session had locked meanwhile is the exception, should that one
/// never commit: ``PlannerLoop/sweepInterval``.
package struct OutboxFloor: Equatable {
    /// Transactions that were open at the last pass's snapshot.
    package var open: [String] = []
    /// The first transaction that had not begun then.
    package var next = "0"
    /// The last event taken in this pass.
    package var afterXID = "0"
    package var afterID: Int64 = 0
    /// The snapshot of this pass's first round; nil between passes.
    package var snapshot: OutboxSnapshot?

    package init(
        open: [String] = [],
        next: String = "0",
        afterXID: String = "0",
        afterID: Int64 = 0,
        snapshot: OutboxSnapshot? = nil
    ) {
        self.open = open
        self.next = next
        self.afterXID = afterXID
        self.afterID = afterID
        self.snapshot = snapshot
    }

    /// Notes the end of a committed round.
    ///
    /// - Parameters:
    ///   - round: what it took.
    ///   - limit: how many it would have taken.
    ///   - end: how far it looked at most; nil for the end of the outbox.
    package mutating func advance(after round: PlanRoundSummary, limit: Int, end: OutboxPlace? = nil) {
        if snapshot == nil { snapshot = round.snapshot }
        let isFull = round.taken >= limit
        if let place = isFull ? round.last : end ?? round.last {
            afterXID = place.xid
            afterID = place.id
        }
        guard !isFull, end == nil, let seen = snapshot else { return }
        self = OutboxFloor(open: seen.open, next: seen.next)
    }
}

/// Where an event lies in the outbox or the quarantine.
package struct OutboxPlace: Hashable {
    package let xid: String
    package let id: Int64
}

/// A `pg_snapshot`: which transactions were open, and which had not begun.
package struct OutboxSnapshot: Equatable {
    /// Every transaction before this one had ended.
    package let oldest: String
    /// The first transaction that had not begun.
    package let next: String
    /// What was open in between.
    package let open: [String]

    /// Parses `xmin:xmax:xip,xip`.
    ///
    /// - Parameter text: what `pg_current_snapshot()::text` gave.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        oldest = String(parts[0])
        next = String(parts[1])
        open = parts[2].split(separator: ",").map(String.init)
    }
}
