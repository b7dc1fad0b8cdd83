/// The size and the timeouts of a pool.
public struct PostgresPoolOptions: Sendable {
    /// The maximum number of sessions, including those being opened or closed; at least 1.
    public var connections: Int
    /// How long a caller waits for a session by default; nil for no limit.
    public var acquireTimeout: Duration?
    /// How long a session may stay unused before it is closed; nil for no limit.
    public var idleLifetime: Duration?
    /// The age at which a session is closed as soon as it is idle; nil for no limit.
    ///
    /// Bounds the memory that the server keeps for a session, and the time for which an old address of the server is
    /// used.
    public var maximumLifetime: Duration?
    /// How long ``PostgresPool/close()`` lets running work continue before it is cancelled.
    public var closeTimeout: Duration
    /// How long the server may take to cancel a statement before the connection is abandoned.
    public var cancelTimeout: Duration

    /// Creates options with defaults for a server of a few hundred requests a second.
    ///
    /// - Parameters:
    ///   - connections: the maximum number of sessions.
    ///   - acquireTimeout: how long to wait for a session.
    ///   - idleLifetime: how long a session may stay unused.
    ///   - maximumLifetime: the age at which a session is closed.
    ///   - closeTimeout: how long closing waits for running work.
    ///   - cancelTimeout: how long the server may take to cancel.
    public init(
        connections: Int = 4,
        acquireTimeout: Duration? = .seconds(5),
        idleLifetime: Duration? = .seconds(300),
        maximumLifetime: Duration? = .seconds(3600),
        closeTimeout: Duration = .seconds(5),
        cancelTimeout: Duration = .seconds(2)
    ) {
        self.connections = connections
        self.acquireTimeout = acquireTimeout
        self.idleLifetime = idleLifetime
        self.maximumLifetime = maximumLifetime
        self.closeTimeout = closeTimeout
        self.cancelTimeout = cancelTimeout
    }
}
