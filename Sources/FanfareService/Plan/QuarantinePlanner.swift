internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// Plans quarantined events beside the planner, on its own thread and on a session that is open only while there are
/// any.
///
/// One daemon at a time does this for all daemons.
struct QuarantinePlanner: Stage {
    static let name = "quarantine-planner"
    /// The longest sleep without a beat of the loop.
    private static let beat = Duration.seconds(10)

    let name: String = QuarantinePlanner.name
    let planning: Planning
    private let stopping = StopSignal()

    private var context: StageContext { planning.context }

    /// Rung by the planner, and by maintenance if it finds quarantined events.
    private var bell: Bell { planning.bells.quarantine }

    func stop() {
        stopping.stop()
        bell.ring()
    }

    func run() {
        var queue = Quarantine(planning, stop: stopping)
        context.takeTurns(on: context.database.queue(name), until: stopping) { session in
            guard bell.wait(timeout: Self.beat), !stopping.isStopped else { return }
            _ = session.attempt { connection throws(PostgresError) in
                guard try connection.run(SQL.tryLock(AdvisoryLock.family, AdvisoryLock.quarantine)).first == true else {
                    return
                }
                try queue.plan(on: connection)
            }
            // Closing the session releases the lock.
            session.close()
        }
    }
}
