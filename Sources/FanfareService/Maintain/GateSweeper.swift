internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Ends what waits behind gates whose sending was aborted, and gates that nothing is left behind.
///
/// Daemons give back what they had and did not send, so that it takes a few turns until nothing is left.
struct GateSweeper {
    /// How long one turn takes, so that rules are checked all the same.
    private static let share = 250 * Micros.millisecond
    /// How often it is looked whether gates are done that nobody aborted.
    private static let interval = 5 * Micros.second

    private let context: StageContext
    private var checkedAt: Microseconds?

    init(context: StageContext) {
        self.context = context
    }

    /// Does what there is to do now.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Returns: whether nothing is left to end at once.
    /// - Throws: what the database says.
    mutating func takeTurn(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        guard !context.gates.isEmpty else { return true }
        let aborting = context.gates.aborting
        let end = Clocks.steady + Self.share
        for gate in aborting {
            guard try sweep(gate, until: end, on: connection) else { return false }
        }
        let now = Clocks.steady
        guard !aborting.isEmpty || checkedAt.map({ now - $0 >= Self.interval }) ?? true else { return true }
        checkedAt = now
        let finished = try connection.run(FinishGates())
        if !finished.isEmpty { context.bells.control.ring() }
        return true
    }

    /// - Returns: whether all of a gate that could be ended was.
    private func sweep(
        _ gate: Gate,
        until end: Microseconds,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Bool {
        var ended: Int64 = 0
        defer {
            context.counters.closed(ended)
            if ended > 0 {
                context.logger.notice(
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
