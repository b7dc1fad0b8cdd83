public import PushTransport
internal import Threading

/// A ``PushTransport`` on nghttp2 over OpenSSL: HTTP/2 over TLS by ALPN, several connections to one endpoint.
///
/// Knows the fate of each request exactly: what the peer says it did not process (REFUSED_STREAM, GOAWAY below its
/// stream) is ``Fate/notProcessed``, and what the socket never took is ``Fate/notSent``. No request is put on the wire
/// twice. Costs about as much CPU per request as h2load. Uses no proxy.
///
/// Owned by one thread. A thread of its own only resolves names.
@safe
public final class HTTP2Engine: PushTransport {
    let options: TransportOptions
    let setting: Connection.Setting
    private let clock: () -> MonotonicTime
    let poller: Poller
    let wakeSignal: WakeSignal
    let resolverWaker: WakeSignal
    let buffer: UnsafeMutableRawBufferPointer
    /// The time at the start of the current round; good enough for deadlines.
    var now: MonotonicTime
    /// All connections that are not yet closed.
    var connections: [Connection] = []
    var bucket: TokenBucket
    /// Requests without a connection, oldest first.
    var queue: [Queued] = []
    /// The counters of ``TransportState``; the current connections are counted when asked for.
    var counters = TransportState()
    /// When any request was answered.
    var lastAnswerAt: MonotonicTime = 0
    /// How many nanoseconds the last answer took.
    var lastAnswerTook: Int64 = 0
    /// How the last answers came; see ``Slicing``.
    var slicing = Slicing()
    private var isClosed = false
    private var namesGiven: UInt64 = 1

    /// A request that waits for a connection.
    struct Queued {
        let request: PushRequest
        let submittedAt: MonotonicTime
    }

    /// How many requests were taken and not yet answered.
    public internal(set) var inFlight = 0

    /// Nothing is put on the wire after this moment; see ``PushTransport/sendUntil``.
    public var sendUntil = ContinuousClock.now.advanced(by: .seconds(100 * 365 * 86_400))

    /// Makes a transport; it connects when there is something to send.
    ///
    /// - Parameters:
    ///   - endpoint: where to send.
    ///   - options: how to behave.
    /// - Throws: ``TransportError`` if the CA file or the client certificate is of no use, or a proxy is asked for.
    public convenience init(
        endpoint: Endpoint,
        options: TransportOptions = TransportOptions()
    ) throws(TransportError) {
        try self.init(endpoint: endpoint, options: options) { KernelClock.monotonic.nanoseconds }
    }

    init(
        endpoint: Endpoint,
        options: TransportOptions,
        clock: @escaping () -> MonotonicTime
    ) throws(TransportError) {
        // To connect directly all the same would go around whoever asked for the proxy.
        guard options.proxy == nil else {
            throw TransportError(reason: .call("HTTP2Engine", problem: "it knows no proxy; use the transport 'curl'"))
        }
        let tls = try TLSContext.shared(options)
        resolverWaker = try WakeSignal.forTransport()
        wakeSignal = try WakeSignal.forTransport()
        poller = try Poller.open()
        poller.watch(wakeSignal.descriptor, named: 0, wantsWrite: false)
        poller.watch(resolverWaker.descriptor, named: 1, wantsWrite: false)
        self.options = options
        self.clock = clock
        setting = Connection.Setting(
            endpoint: endpoint,
            options: options,
            tls: tls,
            ticket: TLSTicket(),
            waker: resolverWaker
        )
        now = clock()
        bucket = TokenBucket(burst: options.connectBurst, interval: options.connectInterval.nanoseconds, now: now)
        unsafe buffer = .allocate(byteCount: 64 * 1024, alignment: 16)
    }

    deinit {
        var answers: [PushAnswer] = []
        close(into: &answers)
        unsafe buffer.deallocate()
    }

    /// Wakes the poll from any thread.
    public var waker: any TransportWaker { wakeSignal }

    /// Connections and their recent failures.
    public var state: TransportState {
        var state = counters
        for connection in connections {
            switch connection.machine.phase {
            case .retired: state.draining += 1
            case .established where connection.machine.warmed: state.open += 1
            case .opening, .established: state.opening += 1
            }
        }
        return state
    }

    /// How many requests ``submit(_:)`` takes now.
    public var freeSlots: Int {
        guard !isClosed else { return 0 }
        var free = openableConnections() - queue.count
        for connection in connections { free += connection.machine.freeSlots }
        return max(free, 0)
    }

    /// Takes requests, from the front, as many as there are free slots.
    ///
    /// One with an origin other than the endpoint is a programmer's error.
    ///
    /// - Parameter requests: what to send.
    /// - Returns: how many were taken; the rest stays the caller's.
    public func submit(_ requests: ArraySlice<PushRequest>) -> Int {
        readClock()
        let taken = requests.prefix(freeSlots)
        inFlight += taken.count
        var rest = taken
        while !rest.isEmpty {
            guard let (connection, room) = connectionForNext() else {
                for request in rest { enqueue(request) }
                break
            }
            for request in rest.prefix(room) { hand(request, to: connection, submittedAt: now) }
            rest = rest.dropFirst(room)
        }
        return taken.count
    }

    /// Lets a connection take no more requests; what waits on it goes to another.
    ///
    /// - Parameter connection: as an answer named it; one that is gone by now is no error.
    public func retire(_ connection: UInt64) {
        connections.first { $0.name == connection }?.machine.retire()
    }

    /// Ends all connections at once.
    ///
    /// What is in flight is answered as ambiguous, or not sent.
    ///
    /// - Parameter answers: the last answers are appended here.
    public func close(into answers: inout [PushAnswer]) {
        guard !isClosed else { return }
        isClosed = true
        for connection in connections {
            collect(connection, into: &answers)
            settle(connection, .closed, "the transport was closed", into: &answers)
            connection.close()
        }
        connections = []
        failQueue(.closed, "the transport was closed", into: &answers)
    }

    func readClock() { now = clock() }

    /// A name for the poller to call a connection by.
    func nextName() -> UInt64 {
        namesGiven += 1
        return namesGiven
    }

    /// Gives a request its place on a connection.
    func hand(_ request: PushRequest, to connection: Connection, submittedAt: MonotonicTime) {
        precondition(request.origin.map { $0 == setting.endpoint } ?? true, "a request for another origin")
        connection.session.table.put(request, submittedAt: submittedAt)
        connection.machine.attach()
    }
}
