internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// Plans quarantined events beside the planner, on its own thread and on a session that is open only while there are
/// any.
///
/// One daemon at a time does this for all daemons.
final class QuarantinePlanner: Stage {
    static let name = "quarantine-planner"
    /// The longest sleep without a beat of the loop.
    private static let beat = Duration.seconds(10)

    let name: String = QuarantinePlanner.name
    private let context: StageContext
    private let stopping = StopSignal()

    /// Creates the stage, which sleeps until its bell rings.
    ///
    /// - Parameter context: the state that all stages share. ``StageBells/quarantine`` is rung by the planner, and by
    ///   maintenance if it finds quarantined events.
    init(context: StageContext) {
        self.context = context
    }

    func stop() {
        stopping.stop()
        context.bells.quarantine.ring()
    }

    func run() {
        var queue = Quarantine(context: context, stop: stopping)
        context.takeTurns(on: context.database.queue(name), until: stopping) { session in
            guard context.bells.quarantine.wait(timeout: Self.beat), !stopping.isStopped else { return }
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
