public import PushTransport
internal import Threading

/// A ``PushTransport`` on libcurl's multi interface: HTTP/2 over TLS by ALPN, several connections to one endpoint.
///
/// libcurl shows neither GOAWAY's last stream nor REFUSED_STREAM, so this transport never says
/// ``Fate/notProcessed``; such requests are ``Fate/ambiguous``. No request is put on the wire twice: a body cannot be
/// read again, a request that went out is not let out again, and only the first request of a connection may connect.
///
/// Owned by one thread. Costs CPU in the order of 30 µs per request, nearly all of it libcurl's.
public final class HTTP2Client: PushTransport {
    let options: TransportOptions
    let context: TransferContext
    let wakeSignal: WakeSignal
    let settings: TransferSettings
    /// Its peer speaks HTTP/1.1.
    var takesTurns = false
    /// All connections that are not yet closed.
    var connections: [Connection] = []
    var bucket: TokenBucket
    /// Requests without a connection, oldest first.
    var queue: [Transfer] = []
    /// All transfers there are, in use or not.
    private(set) var transfers: [Transfer] = []
    private var pool: [Transfer] = []
    private var headerLists: [ObjectIdentifier: HeaderList] = [:]
    private var lastHeaders: HeaderList?
    /// Answers that came about outside of a poll.
    var early: [PushAnswer] = []
    var watchList = WatchList()
    private var isClosed = false
    private var lastAcceptedAt: MonotonicTime = 0
    /// When any request was answered.
    var lastAnswerAt: MonotonicTime = 0

    /// How many requests were taken and not yet answered.
    public private(set) var inFlight = 0

    /// Makes a transport; it connects when there is something to send.
    ///
    /// - Parameters:
    ///   - endpoint: where to send.
    ///   - options: how to behave.
    /// - Throws: ``TransportError`` if the CA file is of no use or libcurl cannot do what is needed.
    public convenience init(
        endpoint: Endpoint,
        options: TransportOptions = TransportOptions()
    ) throws(TransportError) {
        try self.init(endpoint: endpoint, options: options, rules: OriginRules())
    }

    init(endpoint: Endpoint, options: TransportOptions, rules: OriginRules) throws(TransportError) {
        try CurlLibrary.prepare()
        self.options = options
        context = TransferContext(endpoint, options, rules)
        settings = try TransferSettings(endpoint, options, rules)
        wakeSignal = try WakeSignal.forTransport()
        bucket = TokenBucket(
            burst: options.connectBurst,
            interval: options.connectInterval.nanoseconds,
            now: context.now
        )
    }

    deinit {
        var answers: [PushAnswer] = []
        close(into: &answers)
    }

    /// Whether nothing is lost by letting go of it.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - nanoseconds: how long it must have had nothing to do; its pacing of connects counts until then.
    /// - Returns: whether it has no work and no connection.
    func isForgettable(now: MonotonicTime, after nanoseconds: Int64) -> Bool {
        inFlight == 0 && early.isEmpty && connections.isEmpty && now - lastAcceptedAt >= nanoseconds
    }

    /// Nothing is put on the wire after this moment; see ``PushTransport/sendUntil``.
    public var sendUntil: ContinuousClock.Instant {
        get { context.sendUntil }
        set { context.sendUntil = newValue }
    }

    /// Wakes the poll from any thread.
    public var waker: any TransportWaker { wakeSignal }

    /// Connections and their recent failures.
    public var state: TransportState {
        var state = context.state
        for connection in connections {
            switch connection.machine.phase {
            case .retired: state.draining += 1
            case .established where connection.machine.warmed: state.open += 1
            case .opening, .established: state.opening += 1
            }
        }
        return state
    }

    /// Whether a connection has answered and takes requests.
    var isOpen: Bool { connections.contains { $0.machine.phase == .established && $0.machine.warmed } }

    /// How many requests ``submit(_:)`` takes now.
    public var freeSlots: Int {
        guard !isClosed else { return 0 }
        let onConnections = connections.reduce(0) { $0 + $1.machine.freeSlots }
        return max(onConnections + openableConnections() - queue.count, 0)
    }

    /// Takes requests, from the front, as many as there are free slots.
    ///
    /// One with an origin other than the endpoint is a programmer's error.
    ///
    /// - Parameter requests: what to send.
    /// - Returns: how many were taken; the rest stays the caller's.
    public func submit(_ requests: ArraySlice<PushRequest>) -> Int {
        context.now = monotonicNow()
        let taken = requests.prefix(freeSlots)
        for request in taken { accept(request) }
        return taken.count
    }

    /// Takes a request, whether or not a slot is free: without one it waits for a connection.
    func accept(_ request: PushRequest) {
        precondition(request.origin.map { $0 == context.endpoint } ?? true, "a request for another origin")
        lastAcceptedAt = context.now
        do throws(TransportError) {
            let transfer = try idleTransfer()
            inFlight += 1
            do throws(TransportError) {
                try transfer.prepare(request, headers: headerList(of: request.head), now: context.now)
            } catch {
                discard(transfer)
                throw error
            }
            place(transfer)
        } catch {
            early.append(PushAnswer(tag: request.tag, without: .notSent, cause: .local, detail: "\(error)"))
        }
    }

    /// Lets a connection take no more requests.
    ///
    /// - Parameter connection: as an answer named it; one that is gone by now is no error.
    public func retire(_ connection: UInt64) {
        connections.first { $0.name == connection }?.machine.retire()
    }

    /// Ends all connections at once.
    ///
    /// What is in flight is answered as ambiguous, or not sent; by its status where that has come.
    ///
    /// - Parameter answers: the last answers are appended here.
    public func close(into answers: inout [PushAnswer]) {
        isClosed = true
        answers += early
        early = []
        queue = []
        for transfer in transfers where transfer.request != nil {
            if let connection = transfer.connection {
                connection.remove(transfer)
                if reportStatus(of: transfer, on: connection, into: &answers) { continue }
                connection.machine.fail(wasStarted: transfer.hasStarted)
            }
            let fate: Fate = transfer.hasStarted ? .ambiguous : .notSent
            finish(transfer, fate, .closed, "the transport was closed", into: &answers)
        }
        connections.forEach { $0.close() }
        connections = []
        pool = []
        transfers = []
        watchList = WatchList()
    }

    /// Reports a request without a status.
    func finish(
        _ transfer: Transfer,
        _ fate: Fate,
        _ cause: FateCause,
        _ detail: String,
        into answers: inout [PushAnswer]
    ) {
        if let request = transfer.request {
            answers.append(PushAnswer(tag: request.tag, without: fate, cause: cause, detail: detail))
        }
        discard(transfer)
    }

    /// Puts a transfer that went well back into the pool.
    func recycle(_ transfer: Transfer) {
        transfer.clear()
        pool.append(transfer)
        inFlight -= 1
    }

    /// Lets go of a transfer that did not go well: libcurl 7.88 remembers in the easy handle that it wanted to rewind a
    /// body, and would fail the next request for it.
    func discard(_ transfer: Transfer) {
        transfer.clear()
        transfers.removeAll { $0 === transfer }
        inFlight -= 1
    }

    private func idleTransfer() throws(TransportError) -> Transfer {
        if let transfer = pool.popLast() { return transfer }
        let transfer = try Transfer.open(settings, context: context)
        transfers.append(transfer)
        return transfer
    }

    private func headerList(of block: HeaderBlock) -> HeaderList {
        if let lastHeaders, lastHeaders.block === block { return lastHeaders }
        let key = ObjectIdentifier(block)
        let list = headerLists[key] ?? HeaderList(block)
        // Blocks come and go with batches; transfers hold on to the lists they use.
        if headerLists.count >= 256 { headerLists.removeAll(keepingCapacity: true) }
        headerLists[key] = list
        lastHeaders = list
        return list
    }
}
