internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Takes events from the outbox and makes batches; gives the batches of a lone event directly to the senders.
///
/// The session that plans also listens between events, so its backend has warm caches when it is woken. Two advisory
/// locks tell emitters whether a planner needs a notification. A missed notification costs latency, never an event:
/// every sleep starts with a scan of the outbox, and its length is bounded.
final class Planner: Stage {
    static let name = "planner"
    /// The channel that emit notifies.
    static let wakeChannel = "fanfare_wake"
    let name: String = Planner.name
    private let context: StageContext
    private let stopping = StopSignal()
    private let wake: WakeSignal
    private let makeLoneClaimer: (@Sendable () -> LoneClaimer)?

    /// Creates the stage.
    ///
    /// - Parameters:
    ///   - context: the state that all stages share.
    ///   - wake: raised when there may be events for which no notification is sent.
    ///   - makeLoneClaimer: creates the claimer for lone events' batches; nil to leave all batches to the claimer
    ///     stage.
    init(context: StageContext, wake: WakeSignal, makeLoneClaimer: (@Sendable () -> LoneClaimer)? = nil) {
        self.context = context
        self.wake = wake
        self.makeLoneClaimer = makeLoneClaimer
    }

    func stop() {
        stopping.stop()
        wake.wake()
    }

    func run() {
        let session = Session(context.database.planning(name), of: context, stop: stopping)
        let lone = makeLoneClaimer?()
        var lost: Int?
        while !stopping.isStopped {
            context.pulses.beat(name)
            // The session is closed after any error. A lock that one connection acquired twice would survive its
            // release, and while the draining lock is held, emitters notify no planner.
            session.close()
            context.status.listening(false)
            var loop = PlannerLoop(context: context, lone: lone, lost: lost)
            defer { lost = loop.lostWith }
            let begun = session.attempt { connection throws(PostgresError) in
                let listener = try WakeListener(context: context, on: connection)
                let wait = try loop.begin(on: connection)
                return (listener, wait)
            }
            guard var (listener, wait) = begun else { continue }
            // The loop's floor and locks last as long as the connection.
            while !stopping.isStopped {
                let next = session.attempt { connection throws(PostgresError) in
                    let wasNotified = try listener.sleep(atMost: wait, orUntil: wake, on: connection)
                    guard !stopping.isStopped else { return wait }
                    return try loop.wakeUp(wasNotified: wasNotified, on: connection)
                }
                guard let next else { break }
                wait = next
            }
        }
        session.close()
        context.status.listening(false)
    }
}

extension OutboxSnapshot {
    /// The two transaction ids that determine how long the planner sleeps.
    var sweep: SweepSnapshot {
        SweepSnapshot(xmin: UInt64(oldest) ?? 0, xmax: UInt64(next) ?? 0)
    }
}

extension SweepSchedule.Next {
    /// The time to sleep from now.
    var wait: Duration {
        .microseconds(max(0, sweepAt - Clocks.steady))
    }
}
