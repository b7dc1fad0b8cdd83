internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Plans events whose rules say by a query whom they are for: asks, and makes batches of the answer.
///
/// Beside the planner, which waits for no query: on a thread of its own, and on two sessions, one for planning and one for the
/// queries, that are open only while there are such events. There are two of these stages: one for rules whose query is quick, and
/// one for those whose query was slow lately, so that a slow one delays only its like. Within each, rules take turns by the event;
/// so a daemon runs two queries at once at most. All daemons share the work.
final class QueryPlanner: Stage {
    /// Of the stages: that of quick queries, and that of slow ones.
    static let names = ["queries", "slow-queries"]
    /// How long a look may be away from the loop.
    private static let beat = Duration.seconds(10)
    /// After how long without work the sessions are closed.
    private static let rest = 30 * Micros.second
    /// How long to sleep at least while somebody else has what is due.
    private static let nap = 50 * Micros.millisecond

    let name: String
    private let context: StageContext
    private let costs: QueryCosts
    private let isForSlow: Bool
    private let stopping = StopSignal()

    /// Makes a stage that sleeps until its bell rings: who rings are planners, the other stage, and maintenance, which looks whether
    /// something was left.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - costs: shared by both stages.
    ///   - isForSlow: which of the two.
    init(context: StageContext, costs: QueryCosts, isForSlow: Bool) {
        name = Self.names[isForSlow ? 1 : 0]
        self.context = context
        self.costs = costs
        self.isForSlow = isForSlow
    }

    private var bell: Bell { isForSlow ? context.bells.slowQueries : context.bells.queries }

    func stop() {
        stopping.stop()
        bell.ring()
    }

    func run() {
        let session = Session(context.database.asking(name), of: context, stop: stopping)
        let runner = QueryRunner(context: context, costs: costs, isForSlow: isForSlow)
        var workedAt = Clocks.steady
        /// Until the next look; nil while nothing is known to wait.
        var wait: Duration?
        while !stopping.isStopped {
            context.pulses.beat(name)
            let isWoken = wait == .zero || bell.wait(timeout: wait ?? Self.beat)
            guard !stopping.isStopped else { break }
            guard isWoken || wait != nil else {
                if Clocks.steady - workedAt >= Self.rest {
                    session.close()
                    runner.close()
                }
                continue
            }
            workedAt = Clocks.steady
            let next = session.attempt { connection throws(PostgresError) in
                try runner.takeTurn(on: connection) ? 0 : try runner.wait(on: connection).map { max($0, Self.nap) }
            }
            // After an error, which had its pause, it is looked again.
            wait = next.map { $0.map { .microseconds(min($0, Micros.second)) } } ?? .zero
        }
        session.close()
        runner.close()
    }
}
