internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Takes events out of the outbox and makes batches of them; hands those of an event that came alone to the senders.
///
/// Between events its session listens: what wakes it is warm when it plans. The two advisory locks tell emitters whether
/// anybody has to be woken; a missed wake costs latency, never an event, since every sleep begins with a sweep and is bounded.
final class Planner: Stage {
    static let name = "planner"
    /// What emit notifies.
    static let wakeChannel = "fanfare_wake"
    let name: String = Planner.name
    private let context: StageContext
    private let stopping = StopSignal()
    private let wake: WakeSignal
    private let makeLoneClaimer: (@Sendable () -> LoneClaimer)?

    /// Makes a planner.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - wake: raised when there may be events of which its session hears nothing.
    ///   - makeLoneClaimer: what claims a lone event's batches at once; nil if all is left to the claimer.
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
            // After any error: a lock that the same connection took twice would outlive its release, and whoever holds the
            // drainer's keeps all emitters from waking anybody.
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
            // One connection's life: its floor and its locks go with it.
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
    /// The two ids that a sleeper goes by.
    var sweep: SweepSnapshot {
        SweepSnapshot(xmin: UInt64(oldest) ?? 0, xmax: UInt64(next) ?? 0)
    }
}

extension SweepSchedule.Next {
    /// How long to sleep from now.
    var wait: Duration {
        .microseconds(max(0, sweepAt - Clocks.steady))
    }
}
