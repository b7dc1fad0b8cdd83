internal import FanfareConfiguration
internal import FanfareTools
internal import PostgresClient
internal import Threading

/// What the routes share: the daemon beside which they answer, and the database.
struct APIContext: Sendable {
    let daemon: ListenedDaemon
    /// Sessions of its own: what is asked here never waits for what is sent, nor the reverse.
    let database: ToolDatabase
    /// A session more for whether somebody may ask at all, and whether the database is there: it waits behind nothing that is asked,
    /// and a server that is frozen is noticed at once.
    let gate: ToolDatabase
    let readiness: ReadinessCheck
    let figures: DaemonFigures
    let tail: TailHub
    let authority: Authority
    let cursors: CursorKey
    let connections: ConnectionTable
    let streams = StreamSlots()
    /// What the console's pages share.
    let queries = ConsoleQueries()
    /// What proxies have in front of every path: begins with a slash, ends without; empty for nothing.
    let basePath: String
    /// Whether only this host can connect.
    let isLoopback: Bool
    /// Whether what is said goes over TLS.
    let isSecure: Bool

    /// How long a statement may take.
    static let statementTimeout = "5s"
    /// How long who asks waits for a session, and for the database to say whether he may; told soon, a client that tries again finds another
    /// daemon, or the database back.
    static let patience = Duration.milliseconds(900)

    /// Puts it together; nothing is connected yet.
    ///
    /// - Parameters:
    ///   - daemon: beside whom.
    ///   - address: where it answers.
    ///   - connections: how many there may be.
    ///   - times: when files are looked at again, and what time it is.
    /// - Throws: ``ToolError`` for a password file that cannot be read, and keys of phones' tokens that cannot be used.
    init(
        _ daemon: ListenedDaemon,
        at address: ListenAddress,
        connections: Int,
        times: ListenerTimes
    ) throws(ToolError) {
        let configuration = daemon.configuration()
        self.daemon = daemon
        database = try ToolDatabase(
            configuration,
            environment: daemon.environment,
            limits: PostgresPoolOptions(
                connections: configuration.api.sessions,
                acquireTimeout: Self.patience
            ),
            settings: [
                ("statement_timeout", Self.statementTimeout), ("lock_timeout", "2s"),
                ("idle_in_transaction_session_timeout", "10s"), ("application_name", "fanfare api"),
                ToolDatabase.talkative,
            ],
            timelines: daemon.timelines,
            // A server that is frozen keeps its word about no time-out of its own. Explaining, which may take longer, says so.
            responseTimeout: .seconds(6)
        )
        gate = try ToolDatabase(
            configuration,
            environment: daemon.environment,
            limits: PostgresPoolOptions(connections: 1, acquireTimeout: Self.patience),
            settings: [
                ("statement_timeout", "800ms"), ("lock_timeout", "400ms"),
                ("idle_in_transaction_session_timeout", "10s"), ("application_name", "fanfare api gate"),
            ],
            timelines: daemon.timelines,
            responseTimeout: Self.patience
        )
        readiness = ReadinessCheck(gate)
        figures = DaemonFigures(database)
        tail = TailHub(database)
        let phones = PhoneApps(daemon, times: times)
        try phones.read()
        authority = Authority(tokens: KnownTokens(gate, rate: configuration.api.rate), phones: phones)
        cursors = CursorKey(database)
        self.connections = ConnectionTable(limit: connections)
        basePath = configuration.api.basePath
        (isLoopback, isSecure) = (address.isLoopback, configuration.api.certificateFile != nil)
    }

    /// Ends the sessions.
    func close() async {
        await tail.close()
        await gate.close()
        await database.close()
    }
}
