internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Plans events whose audience is selected by a query: runs the query and makes batches of the users that it returns.
///
/// It works beside the planner, which waits for no query, on its own thread and two sessions, one for planning and one
/// for queries. The sessions are open only while there are such events. There are two of these stages, one for fast
/// queries and one for queries that were slow lately, so that a slow query delays only other slow ones. Within a stage,
/// rules take turns event by event, so a daemon runs at most two queries at once. All daemons share the work.
struct QueryPlanner: Stage {
    /// The names of the stages: for fast queries, and for slow ones.
    static let names = ["queries", "slow-queries"]
    /// The longest sleep without a beat of the loop.
    private static let beat = Duration.seconds(10)
    /// The time without work after which the sessions are closed.
    private static let rest = 30 * Micros.second
    /// The shortest sleep while another daemon plans the due events.
    private static let nap = 50 * Micros.millisecond

    let context: StageContext
    let bells: StageBells
    let rules: RuleCache
    /// The record of queries that both stages share.
    let costs: QueryCosts
    /// Whether it is the stage for slow queries.
    let isForSlow: Bool
    private let stopping = StopSignal()

    var name: String { Self.names[isForSlow ? 1 : 0] }

    /// Rung by planners, by the other stage, and by maintenance if it finds waiting events.
    private var bell: Bell { isForSlow ? bells.slowQueries : bells.queries }

    func stop() {
        stopping.stop()
        bell.ring()
    }

    func run() {
        let runner = QueryRunner(context: context, bells: bells, rules: rules, costs: costs, isForSlow: isForSlow)
        var workedAt = Clocks.steady
        /// The time until the next turn; nil while no event is known to wait.
        var wait: Duration?
        context.takeTurns(on: context.database.asking(name), until: stopping) { session in
            let isWoken = wait == .zero || bell.wait(timeout: wait ?? Self.beat)
            guard !stopping.isStopped else { return }
            guard isWoken || wait != nil else {
                if Clocks.steady - workedAt >= Self.rest {
                    session.close()
                    runner.close()
                }
                return
            }
            workedAt = Clocks.steady
            let next = session.attempt { connection throws(PostgresError) in
                try runner.takeTurn(on: connection) ? 0 : try runner.wait(on: connection).map { max($0, Self.nap) }
            }
            // After an error, which had its own pause, the next turn follows at once.
            wait = next.map { $0.map { .microseconds(min($0, Micros.second)) } } ?? .zero
        }
        runner.close()
    }
}
