/// Sends requests to one endpoint, or to the origins that they name, and reports the result of each.
///
/// Owned by one thread; only ``waker`` may be used from others. All work is done inside ``poll(timeout:into:)``,
/// without a thread of its own. Each request that ``submit(_:)`` accepted gets exactly one answer, and is sent at most
/// once even if its connection fails.
///
/// To drain: stop submitting, poll until ``inFlight`` is 0, then call ``close(into:)``.
public protocol PushTransport: AnyObject {
    /// The number of requests that ``submit(_:)`` accepts now: small on a new connection, growing as answers arrive.
    var freeSlots: Int { get }

    /// Returns the number of requests to one origin that ``submit(_:)`` accepts now; ``freeSlots`` if there is one
    /// endpoint.
    ///
    /// - Parameter origin: the origin to send to.
    /// - Returns: the number of requests, at most ``freeSlots``.
    func freeSlots(for origin: Endpoint) -> Int

    /// The number of requests that were accepted and not answered yet.
    var inFlight: Int { get }

    /// Whether connections are missing; one is opened only when all slots of the existing ones are in use.
    var isGrowing: Bool { get }

    /// The moment after which no request is started; requests that are still waiting then are answered as not sent.
    ///
    /// The sender sets it to the end of its lease. It is checked just before each request is written, by a clock that
    /// continues while the machine is suspended. A poll that starts after this moment answers every request that was
    /// not started, including requests that wait for a connection to be opened. Setting a later moment afterwards does
    /// not bring them back.
    var sendUntil: ContinuousClock.Instant { get set }

    /// The number of connections and their recent failures.
    var state: TransportState { get }

    /// Returns the connections to one origin and their recent failures; ``state`` if there is one endpoint.
    ///
    /// - Parameter origin: the origin.
    /// - Returns: its state; an initial state if the origin was not used lately.
    func state(of origin: Endpoint) -> TransportState

    /// The waker, with which any thread can end a ``poll(timeout:into:)``, even after the transport was released.
    var waker: any TransportWaker { get }

    /// Accepts requests from the front, until one finds no free slot.
    ///
    /// - Parameter requests: the requests to send.
    /// - Returns: how many were accepted; the others remain the caller's.
    func submit(_ requests: ArraySlice<PushRequest>) -> Int

    /// Sends, receives, and waits until an answer arrives, a slot becomes free, or a waker is called.
    ///
    /// - Parameters:
    ///   - timeout: the longest time to wait; with zero the call does only what is possible at once.
    ///   - answers: the array to which answers are appended.
    func poll(timeout: Duration, into answers: inout [PushAnswer])

    /// Stops a connection from accepting requests; its requests in flight are still answered, and a new connection
    /// replaces it.
    ///
    /// - Parameter connection: the name of the connection in an answer; a name of a closed connection is ignored.
    func retire(_ connection: UInt64)

    /// Closes all connections; requests in flight are answered as ambiguous or not sent.
    ///
    /// - Parameter answers: the array to which the last answers are appended.
    func close(into answers: inout [PushAnswer])
}

extension PushTransport {
    /// Returns ``freeSlots``, since all requests go to one endpoint.
    ///
    /// - Parameter origin: the endpoint.
    /// - Returns: ``freeSlots``.
    public func freeSlots(for origin: Endpoint) -> Int { freeSlots }

    /// Returns ``state``, since there is one endpoint.
    ///
    /// - Parameter origin: the endpoint.
    /// - Returns: ``state``.
    public func state(of origin: Endpoint) -> TransportState { state }
}

/// Wakes the thread that waits in ``PushTransport/poll(timeout:into:)``.
public protocol TransportWaker: Sendable {
    /// Makes the current poll return, or the next one if none is running.
    func wake()
}

/// The state of a transport's connections.
public struct TransportState: Equatable, Sendable {
    /// The number of connections that have answered and accept requests.
    public var open = 0

    /// The number of connections that are being opened, or wait for the answer to their first request.
    public var opening = 0

    /// The number of connections that accept no more requests and wait for their last answers.
    public var draining = 0

    /// The number of failed connection attempts since the last successful one.
    public var failedConnectsInARow = 0

    /// The total number of connections that were established.
    public var established: UInt64 = 0

    /// The total number of established connections that ended without being drained; includes those that ended by
    /// GOAWAY if the transport cannot detect it.
    public var lost: UInt64 = 0

    /// The reason for the last failed connection attempt, safe to log; empty if the last one succeeded.
    public var lastConnectFailure = ""

    /// Creates the state of a new transport.
    public init() {}
}
