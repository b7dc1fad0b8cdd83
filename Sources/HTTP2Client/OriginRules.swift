internal import PushTransport

/// What a transport to an origin that strangers named does differently from one to a configured endpoint.
struct OriginRules {
    /// What may be connected to; nil for anything.
    var destinations: DestinationPolicy?

    /// Whether a peer may choose HTTP/1.1, then with one request at a time on each connection.
    var allowsHTTP1 = false

    /// After how many nanoseconds without work a connection is closed.
    var idleTimeout = Int64.max

    /// What all connections together may be.
    var budget = ConnectionBudget(limit: .max)

    /// How much a peer may have libcurl read in one call.
    var callBudget = CallBudget()

    /// What the options' CA file became, where several transports share it.
    var trustStore: MemoryFile?
}

/// How many connections there may be, shared by several transports of one thread.
final class ConnectionBudget {
    private let limit: Int
    private var used = 0
    private var opened: UInt64 = 0

    init(limit: Int) { self.limit = max(limit, 1) }

    /// How many more there may be.
    var left: Int { max(limit - used, 0) }

    /// One more is opened.
    ///
    /// - Returns: a number that no other of them has.
    func take() -> UInt64 {
        used += 1
        opened += 1
        return opened
    }

    /// One was closed.
    func give() { used -= 1 }
}
