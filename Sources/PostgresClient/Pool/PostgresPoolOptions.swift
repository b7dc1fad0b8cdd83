/// How many sessions a pool has, and how long it and its callers wait.
public struct PostgresPoolOptions: Sendable {
    /// How many sessions there are at most, those being opened or closed included; at least 1.
    public var connections: Int
    /// How long a caller waits for a session unless it says otherwise; nil for ever.
    public var acquireTimeout: Duration?
    /// After which time without use a session is closed; nil for never.
    public var idleLifetime: Duration?
    /// After which time a session is closed as soon as nobody uses it, so that a server's memory for it, and an old address of
    /// the server, do not stay for ever; nil for never.
    public var maximumLifetime: Duration?
    /// How long ``PostgresPool/close()`` lets work that runs go on before it is cancelled.
    public var closeTimeout: Duration
    /// How long the server may take to end what it was asked to cancel; then the session is cut off.
    public var cancelTimeout: Duration

    /// Makes options with defaults that suit a server of a few hundred requests a second.
    ///
    /// - Parameters:
    ///   - connections: the limit of sessions.
    ///   - acquireTimeout: how long to wait for one.
    ///   - idleLifetime: after which time without use one is closed.
    ///   - maximumLifetime: after which time one is closed.
    ///   - closeTimeout: how long closing waits for work.
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
