internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
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
struct Planner: Stage {
    static let name = "planner"
    /// The channel that emit notifies.
    static let wakeChannel = "fanfare_wake"
    let name: String = Planner.name
    let planning: Planning
    /// The rates of apps, under which batches get their times.
    let orders: Orders
    /// Creates the claimer for lone events' batches; nil to leave all batches to the claimer stage.
    var makeLoneClaimer: (@Sendable () -> LoneClaimer)?
    private let stopping = StopSignal()

    private var context: StageContext { planning.context }

    /// Raised when there may be events for which no notification is sent.
    private var wake: WakeSignal { planning.bells.plan }

    func stop() {
        stopping.stop()
        wake.wake()
    }

    func run() {
        let lone = makeLoneClaimer?()
        var lost: Int?
        context.takeTurns(on: context.database.planning(name), until: stopping) { session in
            // The session is closed after any error. A lock that one connection acquired twice would survive its
            // release, and while the draining lock is held, emitters notify no planner.
            session.close()
            context.status.listening(false)
            var loop = PlannerLoop(planning, orders, lone: lone, lost: lost)
            defer { lost = loop.lostWith }
            let begun = session.attempt { connection throws(PostgresError) in
                let listener = try WakeListener(context: context, on: connection)
                let wait = try loop.begin(on: connection)
                return (listener, wait)
            }
            guard var (listener, wait) = begun else { return }
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

/// Listens on the planner's session for events that are emitted while it sleeps.
///
/// The delivery of notifications is tested, not assumed: the session notifies itself at the start and every 30 s. Where
/// notifications do not arrive, for example through a connection pool, events are found by polling.
struct WakeListener {
    private static let interval = 30 * Micros.second

    private let context: StageContext
    private let patience: Duration
    private let probeChannel: String
    private var provedAt = Clocks.steady
    private var warned = false

    /// Starts to listen, and tests whether notifications arrive.
    ///
    /// - Parameters:
    ///   - context: the planner's; its status shows from now on whether LISTEN works.
    ///   - connection: the planner's session.
    ///   - patience: how long a notification may take; nothing is planned meanwhile.
    /// - Throws: errors of the server; `connectionLost`.
    init(
        context: StageContext,
        on connection: PostgresConnection,
        patience: Duration = .seconds(1)
    ) throws(PostgresError) {
        self.context = context
        self.patience = patience
        probeChannel = "fanfare_probe_\(connection.backendPID)"
        try connection.listen(to: Planner.wakeChannel)
        try connection.listen(to: probeChannel)
        // Other notifications are ignored here, because the planner scans the outbox before its first sleep.
        _ = try prove(on: connection)
    }

    /// Sleeps until a notification arrives or the signal is raised, and repeats the test of LISTEN when it is due.
    ///
    /// - Returns: whether a notification arrived or the signal was raised.
    mutating func sleep(
        atMost time: Duration,
        orUntil wake: WakeSignal,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Bool {
        let start = ContinuousClock.now
        let isWoken =
            try !connection.notifications(timeout: time, alsoWake: wake).isEmpty || ContinuousClock.now - start < time
        guard !isWoken, Clocks.steady - provedAt >= Self.interval else { return isWoken }
        return try prove(on: connection)
    }

    /// Tests LISTEN by a notification to this session.
    ///
    /// - Returns: whether other notifications arrived meanwhile.
    mutating func prove(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        provedAt = Clocks.steady
        do throws(PostgresError) {
            let echo = try connection.echo(on: probeChannel, within: patience)
            tell(echo.isHeard ? nil : Self.silence)
            return !echo.others.isEmpty
        } catch {
            // For example, the notification queue is full.
            guard error.code == .server, !error.isConnectionLost else { throw error }
            tell(error)
            return false
        }
    }

    private mutating func tell(_ failure: PostgresError?) {
        context.status.listening(failure == nil)
        if let failure, !warned {
            context.logger.warning(
                "notifications do not arrive; events are found by polling",
                metadata: .init([.error: "\(failure)"])
            )
        }
        warned = failure != nil
    }

    private static let silence = PostgresError(
        .protocolMismatch,
        message: "a notification to ourselves did not come back",
        hint: "Is there a connection pool in between? LISTEN needs a session of its own."
    )
}
