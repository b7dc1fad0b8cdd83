internal import CPostgres
public import Threading

extension PostgresConnection {
    /// Starts listening on a channel; takes effect when the statement's transaction commits.
    ///
    /// - Parameter channel: its name, case-sensitive.
    /// - Throws: the server's error; it rejects names over 63 bytes.
    public func listen(to channel: String) throws(PostgresError) {
        try execute("LISTEN " + quoteIdentifier(channel))
    }

    /// Stops listening on every channel.
    ///
    /// - Throws: the server's error.
    public func unlisten() throws(PostgresError) {
        try execute("UNLISTEN *")
    }

    /// Waits for notifications.
    ///
    /// Notifications that arrived during other statements are kept and returned first. A lost connection is noticed
    /// here.
    ///
    /// - Parameters:
    ///   - timeout: the maximum wait; zero to poll, nil for no limit.
    ///   - wake: ends the wait when raised, and is lowered.
    /// - Returns: the notifications, in order; empty after the timeout or a wake.
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

    /// Notifies its own session, to find out whether notifications arrive: through a connection pooler they do not.
    ///
    /// - Parameters:
    ///   - channel: one that this session listens on, and no other session.
    ///   - patience: how long to wait. A server delivers a session's own notification with the answer.
    /// - Returns: whether the notification came back, and which others arrived until then.
    /// - Throws: the server's error, such as that its notification queue is full; `connectionLost`.
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
