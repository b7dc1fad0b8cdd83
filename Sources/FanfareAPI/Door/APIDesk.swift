internal import FanfareConfiguration
internal import FanfareTools
internal import PostgresClient
internal import Threading

/// What the routes share: the daemon beside which they answer, and the database.
struct APIDesk: Sendable {
    let daemon: ListenedDaemon
    /// Sessions of its own: what is asked here never waits for what is sent, nor the reverse.
    let database: ToolDatabase
    let readiness: ReadinessCheck
    let figures: DaemonFigures
    let tail: TailHub
    let authority: Authority
    let cursors: CursorKey
    /// What the console's pages share.
    let status: StatusLook
    let looks = ConsoleLooks()
    /// Whether only this host can connect.
    let isLoopback: Bool
    /// Whether what is said goes over TLS.
    let isSecure: Bool

    /// How long a statement may take.
    static let statementTimeout = "5s"

    /// Puts it together; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - daemon: beside whom.
    ///   - address: where it answers.
    ///   - times: when files are looked at again, and what time it is.
    /// - Throws: ``ToolError`` for a password file that cannot be read, and keys of phones' tokens that cannot be used.
    init(_ daemon: ListenedDaemon, at address: ListenAddress, times: ListenerTimes) throws(ToolError) {
        let configuration = daemon.configuration()
        self.daemon = daemon
        database = try ToolDatabase(
            configuration,
            environment: daemon.environment,
            limits: PostgresPoolOptions(
                connections: configuration.api.sessions,
                // Told soon, a client that tries again finds another daemon, or the database back.
                acquireTimeout: .milliseconds(900)
            ),
            settings: [
                ("statement_timeout", Self.statementTimeout), ("lock_timeout", "2s"),
                ("idle_in_transaction_session_timeout", "10s"), ("application_name", "fanfare api"),
                ToolDatabase.talkative,
            ],
            // A server that is frozen keeps its word about no time-out of its own. Longer than explaining may take.
            responseTimeout: .seconds(15)
        )
        readiness = ReadinessCheck(database)
        figures = DaemonFigures(database)
        tail = TailHub(database)
        let phones = PhoneBoard(daemon, times: times)
        try phones.read()
        authority = Authority(board: TokenBoard(database, rate: configuration.api.rate), phones: phones)
        cursors = CursorKey(database)
        status = StatusLook(database)
        (isLoopback, isSecure) = (address.isLoopback, configuration.api.certificateFile != nil)
    }

    /// Ends the sessions.
    func close() async {
        await tail.close()
        await database.close()
    }
}
