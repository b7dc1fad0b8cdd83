/// Sends requests to one endpoint, or to the origins that they name, and says what became of each.
///
/// Owned by one thread, which alone may use it, except for ``waker``. Nothing happens outside ``poll(timeout:into:)``:
/// a transport has no thread of its own. Each request that ``submit(_:)`` took gets exactly one answer, and is put on
/// the wire at most once, whatever the connection does.
///
/// To drain: submit nothing more, poll until ``inFlight`` is 0, then ``close(into:)``.
public protocol PushTransport: AnyObject {
    /// How many requests ``submit(_:)`` takes now. Small on a cold connection, grows as answers come.
    var freeSlots: Int { get }

    /// How many requests to one origin ``submit(_:)`` takes now; ``freeSlots`` where all go to one endpoint.
    ///
    /// - Parameter origin: where they would go.
    /// - Returns: their number, at most ``freeSlots``.
    func freeSlots(for origin: Endpoint) -> Int

    /// How many requests were taken and not yet answered.
    var inFlight: Int { get }

    /// Whether connections are missing: they are opened when all slots of the others are taken, and not before.
    var isGrowing: Bool { get }

    /// Nothing is put on the wire after this moment: what is still waiting then is answered as not sent.
    ///
    /// The sender's lease goes here. It is compared for every request at the last moment, by a clock that goes on
    /// while the machine sleeps. A poll that begins after it answers everything of which nothing is on its way, also what
    /// waits for a connection that is being opened; a later moment that is set afterwards brings none of it back.
    var sendUntil: ContinuousClock.Instant { get set }

    /// Connections and their recent failures.
    var state: TransportState { get }

    /// Connections to one origin and their recent failures; ``state`` where all go to one endpoint.
    ///
    /// - Parameter origin: which one.
    /// - Returns: its state; that of a transport that has done nothing if it has not been used lately.
    func state(of origin: Endpoint) -> TransportState

    /// Ends a ``poll(timeout:into:)`` early, from any thread, also after the transport is gone.
    var waker: any TransportWaker { get }

    /// Takes requests, from the front, until one finds no free slot.
    ///
    /// - Parameter requests: what to send.
    /// - Returns: how many were taken; the rest stays the caller's.
    func submit(_ requests: ArraySlice<PushRequest>) -> Int

    /// Sends, receives, and waits until there is an answer, a slot came free, or somebody woke it.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait at most; zero only does what can be done at once.
    ///   - answers: answers are appended here.
    func poll(timeout: Duration, into answers: inout [PushAnswer])

    /// Lets a connection take no more requests; what it has in flight is still answered, and another takes its place.
    ///
    /// - Parameter connection: as an answer named it; one that is gone by now is no error.
    func retire(_ connection: UInt64)

    /// Ends all connections at once. What is in flight is answered as ambiguous, or not sent.
    ///
    /// - Parameter answers: the last answers are appended here.
    func close(into answers: inout [PushAnswer])
}

extension PushTransport {
    /// How many requests ``submit(_:)`` takes now: all go to one endpoint.
    ///
    /// - Parameter origin: the endpoint.
    /// - Returns: ``freeSlots``.
    public func freeSlots(for origin: Endpoint) -> Int { freeSlots }

    /// Connections and their recent failures: there is one endpoint.
    ///
    /// - Parameter origin: the endpoint.
    /// - Returns: ``state``.
    public func state(of origin: Endpoint) -> TransportState { state }
}

/// Wakes the thread that sleeps in ``PushTransport/poll(timeout:into:)``.
public protocol TransportWaker: Sendable {
    /// Makes the current poll return, or the next one if none is running.
    func wake()
}

/// What a transport knows about its connections.
public struct TransportState: Equatable, Sendable {
    /// Connections that have answered and take requests.
    public var open = 0

    /// Connections that are being opened, or wait for the answer to their first request.
    public var opening = 0

    /// Connections that take no more requests and wait for their last answers.
    public var draining = 0

    /// How many attempts to connect failed since one last succeeded.
    public var failedConnectsInARow = 0

    /// Connections that were established, in all.
    public var established: UInt64 = 0

    /// Established connections that ended before they were drained on purpose, in all; by GOAWAY too, where the transport
    /// cannot tell it apart.
    public var lost: UInt64 = 0

    /// Why the last attempt to connect failed, safe to log; empty if it did not.
    public var lastConnectFailure = ""

    /// Makes the state of a transport that has done nothing yet.
    public init() {}
}
