internal import FanfareConfiguration
package import FanfareDaemon
package import FanfareTools
internal import PostgresClient
internal import Threading

/// The objects that all routes share: the daemon they report on, the database and the limits.
package struct ServerContext: Sendable {
    package let daemon: ListenedDaemon
    /// The server's own sessions, so that requests never wait for sending, nor sending for requests.
    package let database: ToolDatabase
    /// One more session, for token checks and readiness: it waits for no other query, and a frozen server is noticed at
    /// once.
    package let gate: ToolDatabase
    package let authority: Authority
    package let cursors: CursorKey
    package let connections: ConnectionTable
    package let streams = StreamSlots()
    /// The path prefix that proxies add: it begins with a slash and ends without one; empty for none.
    package let basePath: String
    /// Whether the listener accepts connections from this host only.
    package let isLoopback: Bool
    /// Whether the listener uses TLS.
    package let isSecure: Bool

    /// The statement timeout.
    static let statementTimeout = "5s"
    /// How long a request waits for a session, and for the database to check its token.
    ///
    /// A quick 503 lets a client that retries reach another daemon, or the same one once its database is back.
    static let patience = Duration.milliseconds(900)

    /// Builds the context without connecting.
    ///
    /// - Parameters:
    ///   - daemon: the daemon that the routes report on.
    ///   - address: the address of the listener.
    ///   - connections: the connection limit.
    ///   - phone: checks a phone's token.
    /// - Throws: ``ToolError`` for a password file that cannot be read.
    init(
        _ daemon: ListenedDaemon,
        at address: ListenAddress,
        connections: Int,
        phone: @escaping PhoneCheck
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
            // A frozen server does not enforce its own statement timeout. `explain`, which may take longer, sets
            // another limit.
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
        authority = Authority(tokens: KnownTokens(gate, rate: configuration.api.rate), phone: phone)
        cursors = CursorKey(database)
        self.connections = ConnectionTable(limit: connections)
        basePath = configuration.api.basePath
        (isLoopback, isSecure) = (address.isLoopback, configuration.api.certificateFile != nil)
    }

    /// Closes the sessions.
    func close() async {
        await gate.close()
        await database.close()
    }
}
