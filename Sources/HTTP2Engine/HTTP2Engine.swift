public import PushTransport
internal import Threading

/// A ``PushTransport`` on nghttp2 over OpenSSL: HTTP/2 over TLS by ALPN, with several connections to one endpoint.
///
/// Reports exactly what happened to each request. A request that the peer says it did not process (REFUSED_STREAM, or a
/// stream above GOAWAY's last one) is ``Fate/notProcessed``; a request that the socket never took is ``Fate/notSent``.
/// No request is sent twice. The CPU cost per request is about that of h2load.
///
/// Owned by one thread; other threads are used for name resolution only.
@safe
public final class HTTP2Engine: PushTransport {
    let options: TransportOptions
    let setting: Connection.Setting
    private let clock: () -> MonotonicTime
    let poller: Poller
    let wakeSignal: WakeSignal
    let resolverWaker: WakeSignal
    let buffer: UnsafeMutableRawBufferPointer
    /// The time at the start of the current round, which is precise enough for deadlines.
    var now: MonotonicTime
    /// All connections that are not closed.
    var connections: [Connection] = []
    var bucket: TokenBucket
    /// Requests that wait for a connection, oldest first.
    var queue: [Queued] = []
    /// The counters of ``TransportState``; connections are counted when the state is read.
    var counters = TransportState()
    /// When the last answer arrived, on any connection.
    var lastAnswerAt: MonotonicTime = 0
    /// The latency of the last answer, in nanoseconds.
    var lastAnswerTook: Int64 = 0
    /// The pause between reads; see ``Slicing``.
    var slicing = Slicing()
    private var isClosed = false
    private var namesGiven: UInt64 = 1

    /// A request that waits for a connection.
    struct Queued {
        let request: PushRequest
        let submittedAt: MonotonicTime
    }

    /// The number of requests that were accepted and not answered yet.
    public internal(set) var inFlight = 0

    /// The moment after which no request is started; see ``PushTransport/sendUntil``.
    public var sendUntil = ContinuousClock.now.advanced(by: .seconds(100 * 365 * 86_400))

    /// Creates a transport, which connects when the first request is submitted.
    ///
    /// - Parameters:
    ///   - endpoint: the endpoint to send to.
    ///   - options: the limits, timeouts and certificates.
    /// - Throws: ``TransportError`` if the CA file or the client certificate is unusable.
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
        let tls = try TLSContext.shared(options)
        // The client certificate is for the endpoint only.
        let proxyTLS =
            options.proxy?.scheme == .https ? try TrustedAuthorities.reading(caFile: options.caFile).context() : nil
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
            proxyTLS: proxyTLS,
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

    /// The waker, with which any thread can end a poll.
    public var waker: any TransportWaker { wakeSignal }

    /// The number of connections and their recent failures.
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

    /// The number of requests that ``submit(_:)`` accepts now.
    public var freeSlots: Int {
        guard !isClosed else { return 0 }
        var free = openableConnections() - queue.count
        for connection in connections { free += connection.machine.freeSlots }
        return max(free, 0)
    }

    /// Accepts requests from the front, as many as there are free slots.
    ///
    /// A request with an origin other than the endpoint is a programming error.
    ///
    /// - Parameter requests: the requests to send.
    /// - Returns: how many were accepted; the others remain the caller's.
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

    /// Stops a connection from accepting requests; those that wait on it move to another connection.
    ///
    /// - Parameter connection: the name of the connection in an answer; a name of a closed connection is ignored.
    public func retire(_ connection: UInt64) {
        connections.first { $0.name == connection }?.machine.retire()
    }

    /// Closes all connections.
    ///
    /// Requests in flight are answered as ambiguous or not sent.
    ///
    /// - Parameter answers: the array to which the last answers are appended.
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

    /// Returns a new name, under which the poller knows a connection.
    func nextName() -> UInt64 {
        namesGiven += 1
        return namesGiven
    }

    /// Assigns a request to a connection.
    func hand(_ request: PushRequest, to connection: Connection, submittedAt: MonotonicTime) {
        precondition(request.origin.map { $0 == setting.endpoint } ?? true, "a request for another origin")
        connection.session.table.put(request, submittedAt: submittedAt)
        connection.machine.attach()
    }
}
