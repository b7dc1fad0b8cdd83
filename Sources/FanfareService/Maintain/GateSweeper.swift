internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Ends the batches behind aborted gates, and gates without remaining batches.
///
/// This takes several turns, because daemons first give back the batches that they have claimed.
struct GateSweeper {
    /// The time limit of one turn, so that other maintenance goes on.
    private static let share = 250 * Micros.millisecond
    /// How often gates that were not aborted are checked for completion.
    private static let interval = 5 * Micros.second

    private let orders: Orders
    private let counters: PipelineCounters
    /// Rung when gates are done, because it reads them.
    private let controller: Bell
    private let logger: Logger
    private var checkedAt: Microseconds?

    init(_ orders: Orders, counters: PipelineCounters, controller: Bell, logger: Logger) {
        (self.orders, self.counters) = (orders, counters)
        (self.controller, self.logger) = (controller, logger)
    }

    /// Runs one turn.
    ///
    /// - Parameter connection: a connection outside a transaction.
    /// - Returns: whether no batches are left to end at once.
    /// - Throws: errors of the server.
    mutating func takeTurn(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let gates = orders.current.gates
        guard !gates.isEmpty else { return true }
        let aborting = gates.aborting
        let end = Clocks.steady + Self.share
        for gate in aborting {
            guard try sweep(gate, until: end, on: connection) else { return false }
        }
        let now = Clocks.steady
        guard !aborting.isEmpty || checkedAt.map({ now - $0 >= Self.interval }) ?? true else { return true }
        checkedAt = now
        let finished = try connection.run(SQL.finishGates())
        if !finished.isEmpty { controller.ring() }
        return true
    }

    /// - Returns: whether all of the gate's batches that could be ended were ended.
    private func sweep(
        _ gate: Gate,
        until end: Microseconds,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Bool {
        var ended: Int64 = 0
        defer {
            counters.closed(ended)
            if ended > 0 {
                logger.notice(
                    "aborted batches were ended",
                    metadata: .init([.app: "\(gate.app)", .count: "\(ended)"])
                )
            }
        }
        while true {
            let batches = try connection.run(SweepGate(gate: gate.id)).first ?? 0
            ended += batches
            guard batches == SweepGate.limit else { return true }
            guard Clocks.steady < end else { return false }
        }
    }
}
