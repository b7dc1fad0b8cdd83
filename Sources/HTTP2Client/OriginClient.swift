internal import PushTransport
internal import Threading

/// The requests to one origin over libcurl's multi interface: HTTP/2 over TLS by ALPN, or HTTP/1.1, with several
/// connections.
///
/// libcurl reports neither GOAWAY's last stream nor REFUSED_STREAM, so it never reports
/// ``Fate/notProcessed``; such requests are ``Fate/ambiguous``. No request is sent twice: a body cannot be read again,
/// a request that was sent is not sent again, and only the first request of a connection may connect.
///
/// Owned by one thread. The CPU cost is about 30 µs per request, nearly all of it in libcurl.
final class OriginClient {
    let options: TransportOptions
    let context: TransferContext
    let settings: TransferSettings
    /// Whether the peer speaks HTTP/1.1.
    var takesTurns = false
    /// All connections that are not closed.
    var connections: [Connection] = []
    var bucket: TokenBucket
    /// Requests that wait for a connection, oldest first.
    var queue: [Transfer] = []
    /// All transfers, in use or not.
    private(set) var transfers: [Transfer] = []
    private var pool: [Transfer] = []
    private var headerLists: [ObjectIdentifier: HeaderList] = [:]
    private var lastHeaders: HeaderList?
    /// Answers that arose outside a poll.
    var early: [PushAnswer] = []
    private var lastAcceptedAt: MonotonicTime = 0
    /// When the last answer arrived, on any connection.
    var lastAnswerAt: MonotonicTime = 0

    /// The number of requests that were accepted and not answered yet.
    private(set) var inFlight = 0

    /// Creates a client, which connects when it accepts its first request.
    ///
    /// - Throws: ``TransportError`` if a file is unusable.
    init(endpoint: Endpoint, options: TransportOptions, rules: OriginRules) throws(TransportError) {
        self.options = options
        context = TransferContext(endpoint, options, rules)
        settings = try TransferSettings(endpoint, options, rules)
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

    /// Whether the client can be released without loss.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - nanoseconds: how long it must have been idle; until then its pacing of connects still counts.
    /// - Returns: whether it has no requests and no connection.
    func isForgettable(now: MonotonicTime, after nanoseconds: Int64) -> Bool {
        inFlight == 0 && early.isEmpty && connections.isEmpty && now - lastAcceptedAt >= nanoseconds
    }

    /// The moment after which no request is started; see ``PushTransport/sendUntil``.
    var sendUntil: ContinuousClock.Instant {
        get { context.sendUntil }
        set { context.sendUntil = newValue }
    }

    /// The number of connections and their recent failures.
    var state: TransportState {
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

    /// Whether a connection has answered and accepts requests.
    var isOpen: Bool { connections.contains { $0.machine.phase == .established && $0.machine.warmed } }

    /// Accepts a request even if no slot is free; it then waits for a connection.
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

    /// Stops a connection from accepting requests.
    ///
    /// - Parameter connection: the name of the connection in an answer; a name of a closed connection is ignored.
    func retire(_ connection: UInt64) {
        connections.first { $0.name == connection }?.machine.retire()
    }

    /// Closes all connections.
    ///
    /// Requests in flight are answered as ambiguous or not sent, or by their status if that has arrived.
    ///
    /// - Parameter answers: the array to which the last answers are appended.
    func close(into answers: inout [PushAnswer]) {
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

    /// Returns a transfer that succeeded to the pool.
    func recycle(_ transfer: Transfer) {
        transfer.clear()
        pool.append(transfer)
        inFlight -= 1
    }

    /// Releases a transfer that failed: libcurl 7.88 keeps in the easy handle that it wanted to rewind a body, and
    /// would fail the next request for that reason.
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
        // The cache is emptied at 256 blocks, because blocks change with batches; transfers retain the lists in use.
        if headerLists.count >= 256 { headerLists.removeAll(keepingCapacity: true) }
        headerLists[key] = list
        lastHeaders = list
        return list
    }
}
