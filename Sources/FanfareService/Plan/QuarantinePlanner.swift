internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient

/// Plans the events of the quarantine, beside the planner: on a thread of its own, and on a session that is open only while
/// there are any.
///
/// One daemon at a time does so for all.
final class QuarantinePlanner: Stage {
    static let name = "side-queue-planner"
    /// How long a look may be away from the loop.
    private static let beat = Duration.seconds(10)

    let name: String = QuarantinePlanner.name
    private let context: StageContext
    private let stopping = StopSignal()

    /// Makes a stage that sleeps until the bell rings for it.
    ///
    /// - Parameter context: what all stages share; who rings ``StageBells/quarantine`` are the planner, and maintenance, which
    ///   looks whether something was left there.
    init(context: StageContext) {
        self.context = context
    }

    func stop() {
        stopping.stop()
        context.bells.quarantine.ring()
    }

    func run() {
        let session = Session(context.database.queue(name), of: context, stop: stopping)
        var queue = Quarantine(context: context, stop: stopping)
        while !stopping.isStopped {
            context.pulses.beat(name)
            guard context.bells.quarantine.wait(timeout: Self.beat), !stopping.isStopped else { continue }
            _ = session.attempt { connection throws(PostgresError) in
                guard try connection.run(TryLock(key: AdvisoryLock.quarantine)).first == true else { return }
                try queue.plan(on: connection)
            }
            // With the lock.
            session.close()
        }
        session.close()
    }
}
