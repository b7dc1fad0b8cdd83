internal import PushTransport

/// The rules for a transport to an origin that comes from a registration, instead of from the configuration.
struct OriginRules {
    /// The destinations that may be connected to; nil for any.
    var destinations: DestinationPolicy?

    /// Whether the peer may choose HTTP/1.1, with one request at a time on each connection.
    var allowsHTTP1 = false

    /// The idle time in nanoseconds after which a connection is closed.
    var idleTimeout = Int64.max

    /// The limit for all connections together.
    var budget = ConnectionBudget(limit: .max)

    /// The limit for what libcurl may read from a peer in one call.
    var callBudget = CallBudget()

    /// The certificates of the CA file, shared by several transports.
    var trustStore: MemoryFile?
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
