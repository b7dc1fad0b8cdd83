internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Ends waiting batches of cancelled events soon after the cancellation.
struct CancelSweeper {
    /// The time after which a sweep is repeated: during the first one a claim may have held a batch that it had read
    /// before the cancellation.
    private static let overlap = 5 * Micros.second
    /// The time limit of one turn, so that other maintenance goes on.
    private static let share = 250 * Micros.millisecond

    private let cancels: CancelIndex
    private let counters: PipelineCounters
    /// Rung when batches became due.
    private let claimer: Bell
    private let logger: Logger
    /// The version of the cancellations that were swept.
    private var version: Int?
    /// The snapshot before which all cancellations are done.
    private(set) var since: String?
    /// The snapshot and the time of the last sweep.
    private var last: (seen: String, at: Microseconds)?

    /// Whether a sweep is to be repeated.
    var isPending: Bool { last != nil }

    init(_ cancels: CancelIndex, counters: PipelineCounters, claimer: Bell, logger: Logger) {
        (self.cancels, self.counters) = (cancels, counters)
        (self.claimer, self.logger) = (claimer, logger)
    }

    /// Runs one turn.
    ///
    /// - Parameter connection: a connection outside a transaction.
    /// - Returns: whether no batches are left to end at once.
    /// - Throws: errors of the server.
    mutating func takeTurn(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let (version, start) = (cancels.version, Clocks.steady)
        let isOver = last.map { start - $0.at >= Self.overlap } ?? false
        guard version != self.version || isOver else { return true }
        var ended: Int64 = 0
        defer { note(ended) }
        while true {
            guard let row = try connection.run(EndCancelled(since: since)).first else { return true }
            ended += row.ended
            if row.woken > 0 { claimer.ring() }
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
        counters.closed(ended)
        logger.notice("batches of cancelled events were ended", metadata: .init([.count: "\(ended)"]))
    }
}
