/// The position of a planning session in the outbox, by transaction id and not by row id.
///
/// A **pass** is a series of rounds until one finds fewer events than its limit. The next pass then has to read only
/// events of transactions that were open or not begun at the snapshot of the pass's first round. This is exact even if
/// commits are out of order, and an old snapshot in another session does not slow it down. The exception is events that
/// another session had locked, if that session never commits: ``PlannerLoop/sweepInterval``.
package struct OutboxFloor: Equatable {
    /// The transactions that were open at the last pass's snapshot.
    package var open: [String] = []
    /// The first transaction that had not begun at that snapshot.
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

    /// Advances the floor after a committed round.
    ///
    /// - Parameters:
    ///   - round: the round's result.
    ///   - limit: the most events that it would have taken.
    ///   - end: the end of the range that it read; nil for the end of the outbox.
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

/// The place of an event in the outbox or the quarantine.
package struct OutboxPlace: Hashable {
    package let xid: String
    package let id: Int64
}

/// A `pg_snapshot`: the transactions that were open, and the first that had not begun.
package struct OutboxSnapshot: Equatable {
    /// The oldest transaction that may be open; all earlier ones had ended.
    package let oldest: String
    /// The first transaction that had not begun.
    package let next: String
    /// The transactions in between that were open.
    package let open: [String]

    /// Parses `xmin:xmax:xip,xip`.
    ///
    /// - Parameter text: the text of `pg_current_snapshot()`.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        oldest = String(parts[0])
        next = String(parts[1])
        open = parts[2].split(separator: ",").map(String.init)
    }
}
