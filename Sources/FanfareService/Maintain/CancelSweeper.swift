internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Ends what waits of cancelled events, soon after they were cancelled.
struct CancelSweeper {
    /// How long after a look what it saw is looked at once more: a claim may have held a batch meanwhile that it had read before.
    private static let overlap = 5 * Micros.second
    /// How long one turn takes, so that rules are checked all the same.
    private static let share = 250 * Micros.millisecond

    private let context: StageContext
    /// Of the cancellations that were swept.
    private var version: Int?
    /// What was seen by then is done.
    private(set) var since: String?
    /// What the last look saw, and when.
    private var last: (seen: String, at: Microseconds)?

    init(context: StageContext) {
        self.context = context
    }

    /// Does what there is to do now.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Returns: whether nothing is left to end at once.
    /// - Throws: what the database says.
    mutating func takeTurn(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let (version, start) = (context.cancels.version, Clocks.steady)
        let isOver = last.map { start - $0.at >= Self.overlap } ?? false
        guard version != self.version || isOver else { return true }
        var ended: Int64 = 0
        defer { note(ended) }
        while true {
            guard let row = try connection.run(EndCancelled(since: since)).first else { return true }
            ended += row.ended
            if row.woken > 0 { context.bells.claim.ring() }
            guard row.isFull else {
                if let last, isOver { since = last.seen }
                if isOver || last == nil { last = version == self.version ? nil : (row.seen, start) }
                self.version = version
                return true
            }
            guard Clocks.steady - start < Self.share else { return false }
        }
    }

    private func note(_ ended: Int64) {
        guard ended > 0 else { return }
        context.counters.closed(ended)
        context.logger.notice("batches of cancelled events were ended", metadata: .init([.count: "\(ended)"]))
    }
}
