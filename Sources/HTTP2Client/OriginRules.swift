internal import PushTransport

/// The rules for the clients of a ``MultiOriginClient``.
struct OriginRules {
    /// The destinations that may be connected to.
    let destinations: DestinationPolicy

    /// The idle time in nanoseconds after which a connection is closed.
    let idleTimeout: Int64

    /// The limit for all connections together.
    let budget: ConnectionBudget

    /// The limit for what libcurl may read from a peer in one call.
    let callBudget: CallBudget

    /// The certificates of the CA file, shared by the clients.
    let trustStore: MemoryFile?
}

/// The limit for the number of connections, shared by the transports of one thread.
final class ConnectionBudget {
    private let limit: Int
    private var used = 0
    private var opened: UInt64 = 0

    init(limit: Int) { self.limit = max(limit, 1) }

    /// The number of further connections that may be opened.
    var left: Int { max(limit - used, 0) }

    /// Counts a connection that is opened.
    ///
    /// - Returns: a name that is unique among the connections.
    func take() -> UInt64 {
        used += 1
        opened += 1
        return opened
    }

    /// Counts a connection that was closed.
    func give() { used -= 1 }
}
