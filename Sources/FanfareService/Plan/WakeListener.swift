internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import Logging
internal import PostgresClient
internal import Threading

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
    ///   - context: the state that all stages share; its status shows from now on whether LISTEN works.
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
