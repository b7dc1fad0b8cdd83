internal import CPostgres
public import Threading

extension PostgresConnection {
    /// Starts listening; takes effect when the statement's transaction commits.
    ///
    /// - Parameter channel: its name, exact case.
    /// - Throws: what the server says; it refuses names over 63 bytes.
    public func listen(to channel: String) throws(PostgresError) {
        try execute("LISTEN " + quoteIdentifier(channel))
    }

    /// Stops listening to every channel.
    ///
    /// - Throws: what the server says.
    public func unlisten() throws(PostgresError) {
        try execute("UNLISTEN *")
    }

    /// Waits for notifications.
    ///
    /// Those that came during other statements are kept and returned first. An end of the connection is noticed here.
    ///
    /// - Parameters:
    ///   - timeout: how long to sleep at most; zero to only look, nil for no limit.
    ///   - wake: ends the sleep when raised, and is taken down.
    /// - Returns: what came, in order; empty after the time-out or a wake.
    /// - Throws: `connectionLost`; `cancelled` if the connection was abandoned.
    public func notifications(
        timeout: Duration? = nil,
        alsoWake wake: WakeSignal? = nil
    ) throws(PostgresError) -> [PostgresNotification] {
        let handle = try unsafe requireHandle()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while true {
            guard unsafe PQconsumeInput(handle) == 1 else { throw unsafe lost(handle) }
            let received = unsafe takeNotifications(handle)
            guard received.isEmpty else { return received }
            let wait = SocketWait(
                socket: unsafe PQsocket(handle),
                abandon: abandonment,
                wake: wake,
                deadline: deadline
            )
            switch wait() {
            case .ready: continue
            case .woken, .timedOut: return []
            case .abandoned:
                close()
                throw PostgresError(.cancelled, message: "the connection was given up while it listened")
            }
        }
    }

    /// Notifies itself, to find out whether notifications come: through a connection pool they do not.
    ///
    /// - Parameters:
    ///   - channel: one that this session listens to, and no other.
    ///   - patience: how long to wait. A server that answers sends a session's own with the answer.
    /// - Returns: whether the notification came back, and what else came until then.
    /// - Throws: what the server says, such as that its queue of notifications is full; `connectionLost`.
    public func echo(
        on channel: String,
        within patience: Duration
    ) throws(PostgresError) -> (isHeard: Bool, others: [PostgresNotification]) {
        _ = try query("SELECT pg_notify($1, '')", channel)
        let deadline = ContinuousClock.now + patience
        var heard: [PostgresNotification] = []
        repeat {
            heard += try notifications(timeout: deadline - .now)
        } while !heard.contains { $0.channel == channel } && ContinuousClock.now < deadline
        let others = heard.filter { $0.channel != channel }
        return (isHeard: others.count < heard.count, others: others)
    }

    private func takeNotifications(_ handle: OpaquePointer) -> [PostgresNotification] {
        var received: [PostgresNotification] = []
        while let next = unsafe PQnotifies(handle) {
            received.append(
                PostgresNotification(
                    channel: unsafe String(cString: next.pointee.relname),
                    payload: unsafe String(cString: next.pointee.extra),
                    senderPID: unsafe next.pointee.be_pid
                )
            )
            unsafe PQfreemem(next)
        }
        return received
    }
}
