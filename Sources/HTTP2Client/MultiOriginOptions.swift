public import PushTransport

/// The options of a ``MultiOriginClient``; every default is the documented one.
public struct MultiOriginOptions: Sendable {
    /// The options for each origin: connections, streams, timeouts, authorities.
    public var transport = TransportOptions()

    /// The destinations that may be connected to.
    public var destinations: DestinationPolicy

    /// The maximum number of connections to all origins together.
    ///
    /// When it is reached, idle connections are closed to make room.
    public var connections = Self.standardConnections
    /// The default of ``connections``.
    public static let standardConnections = 64

    /// The maximum number of requests accepted and not answered, for all origins together.
    ///
    /// One origin gets as many as its connections have streams, so that an origin that never answers leaves slots for
    /// others.
    public var requests = 1000

    /// The idle time after which a connection is closed.
    public var idleTimeout = Duration.seconds(60)

    /// The limit for what libcurl may read from a peer in one call.
    var callBudget = CallBudget()

    /// Creates the default options.
    ///
    /// - Parameter destinations: the destinations that may be connected to.
    public init(destinations: DestinationPolicy) {
        self.destinations = destinations
    }
}
