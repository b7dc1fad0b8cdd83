internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import Logging
internal import PostgresClient
internal import Threading

/// Listens on a planner's session for events that are emitted while it sleeps.
///
/// That notifications come at all is proved, not assumed: the session notifies itself at its start and every 30 s. Where
/// they do not, as through a connection pool, events are found by polling.
struct WakeListener {
    private static let interval = 30 * Micros.second

    private let context: StageContext
    private let patience: Duration
    private let probeChannel: String
    private var provedAt = Clocks.steady
    private var warned = false

    /// Starts to listen, and finds out whether that works.
    ///
    /// - Parameters:
    ///   - context: what all stages share; its status says from now on whether this session hears.
    ///   - connection: the planner's.
    ///   - patience: how long a notification may be under way, while nothing is planned.
    /// - Throws: what the database says of LISTEN; `connectionLost`.
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
        // What is heard meanwhile need not be told: who begins looks first.
        _ = try prove(on: connection)
    }

    /// Sleeps until a notification comes, or the signal is raised; then proves anew what was proved long ago.
    ///
    /// - Returns: whether one of them was.
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

    /// Notifies itself.
    ///
    /// - Returns: whether something else was heard meanwhile.
    mutating func prove(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        provedAt = Clocks.steady
        do throws(PostgresError) {
            let echo = try connection.echo(on: probeChannel, within: patience)
            tell(echo.isHeard ? nil : Self.silence)
            return !echo.others.isEmpty
        } catch {
            // Such as a queue of notifications that is full.
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
