public import PushTransport

/// How a ``MultiOriginClient`` behaves; every default is the documented one.
public struct MultiOriginOptions: Sendable {
    /// How it behaves toward each origin: connections, streams, time limits, authorities.
    public var transport = TransportOptions()

    /// What may be connected to.
    public var destinations: DestinationPolicy

    /// Connections to all origins together, at most.
    ///
    /// Where they are all open, those that are idle make room.
    public var connections = Self.standardConnections
    /// How many there are unless it is said otherwise.
    public static let standardConnections = 64

    /// Requests taken and not yet answered, at most, for all origins together.
    ///
    /// One origin gets as many as its connections have streams, so that one that never answers leaves room for others.
    public var requests = 1000

    /// After so long without work a connection is closed.
    public var idleTimeout = Duration.seconds(60)

    /// Makes the default options.
    ///
    /// - Parameter destinations: what may be connected to.
    public init(destinations: DestinationPolicy) {
        self.destinations = destinations
    }
}
