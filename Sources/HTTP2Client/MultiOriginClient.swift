public import PushTransport
internal import Threading

/// A ``PushTransport`` to many origins, which the requests name: the registration of a browser or a webhook contains
/// the origin.
///
/// Connects only where a ``DestinationPolicy`` allows it. A forbidden request is answered as not sent with
/// ``FateCause/forbidden``, and does not count as a failure. The server may choose HTTP/1.1, with one request at a time on
/// each connection. Answers are truncated at 64 KiB, and redirects are not followed.
///
/// libcurl reports neither GOAWAY's last stream nor REFUSED_STREAM, so this transport never reports
/// ``Fate/notProcessed``; such requests are ``Fate/ambiguous``. No request is sent twice.
///
/// Owned by one thread.
public final class MultiOriginClient: PushTransport {
    private let options: MultiOriginOptions
    private let budget: ConnectionBudget
    private let trustStore: MemoryFile?
    private let wakeSignal: WakeSignal
    /// The client of each origin; also kept in order of first use, so that a round serves them in turn.
    private var clients: [Endpoint: OriginClient] = [:]
    private(set) var order: [OriginClient] = []
    private var watchList = WatchList()
    private var clientsChanged = true
    /// Answers to requests whose host name is forbidden.
    private var refusals: [PushAnswer] = []
    /// The counters of clients that were removed.
    private var past = TransportState()
    private var isClosed = false

    /// The moment after which no request is started; see ``PushTransport/sendUntil``.
    public var sendUntil: ContinuousClock.Instant {
        didSet { for client in order { client.sendUntil = sendUntil } }
    }

    /// Creates a transport, which connects when the first request is submitted.
    ///
    /// - Parameter options: the limits, timeouts and allowed destinations.
    /// - Throws: ``TransportError`` if the CA file is unusable or libcurl lacks a required feature.
    public init(options: MultiOriginOptions) throws(TransportError) {
        try CurlLibrary.prepare()
        self.options = options
        var trustStore: MemoryFile?
        if let caFile = options.transport.caFile { trustStore = try TrustStore.joining(caFile: caFile) }
        self.trustStore = trustStore
        budget = ConnectionBudget(limit: options.connections)
        wakeSignal = try WakeSignal.forTransport()
        sendUntil = .now.advanced(by: .seconds(100 * 365 * 86_400))
    }

    /// The waker, with which any thread can end a poll.
    public var waker: any TransportWaker { wakeSignal }

    /// The number of requests that were accepted and not answered yet.
    public var inFlight: Int { order.reduce(0) { $0 + $1.inFlight } }

    /// Always false: the slots are shared by all origins and do not depend on the number of connections.
    public var isGrowing: Bool { false }

    /// The number of requests that ``submit(_:)`` accepts now, for all origins together; see ``freeSlots(for:)``.
    public var freeSlots: Int { isClosed ? 0 : max(options.requests - inFlight, 0) }

    /// Returns the number of requests to one origin that ``submit(_:)`` accepts now.
    ///
    /// Until the origin has answered once, this is the maximum number of connections to it. Further requests would only
    /// hold slots while they wait for a server that may be unreachable.
    ///
    /// - Parameter origin: the origin to send to.
    /// - Returns: the number of requests, at most ``freeSlots``.
    public func freeSlots(for origin: Endpoint) -> Int {
        let client = clients[origin]
        let streams = client?.isOpen == true ? options.transport.streams : 1
        let most = max(options.transport.connections * streams, 1)
        return min(freeSlots, max(most - (client?.inFlight ?? 0), 0))
    }

    /// The connections to all origins together.
    ///
    /// `failedConnectsInARow` is the smallest value of all origins: if it is large, no origin can be reached.
    public var state: TransportState {
        var sum = past
        sum.failedConnectsInARow = order.map(\.context.state.failedConnectsInARow).min() ?? 0
        for state in order.map(\.state) {
            sum.open += state.open
            sum.opening += state.opening
            sum.draining += state.draining
            sum.established += state.established
            sum.lost += state.lost
            if !state.lastConnectFailure.isEmpty { sum.lastConnectFailure = state.lastConnectFailure }
        }
        return sum
    }

    /// Returns the connections to one origin and their recent failures.
    ///
    /// - Parameter origin: the origin.
    /// - Returns: its state; an initial state if the origin was not used lately.
    public func state(of origin: Endpoint) -> TransportState { clients[origin]?.state ?? TransportState() }

    /// Accepts requests from the front, until one finds no free slot for its origin.
    ///
    /// A request without an origin is a programming error.
    ///
    /// - Parameter requests: the requests to send.
    /// - Returns: how many were accepted; the others remain the caller's.
    public func submit(_ requests: ArraySlice<PushRequest>) -> Int {
        var taken = 0
        for request in requests {
            guard let origin = request.origin else { preconditionFailure("a request without an origin") }
            guard freeSlots(for: origin) > 0 else { break }
            taken += 1
            if options.destinations.allows(origin) {
                accept(request, to: origin)
            } else {
                refuse(request, .forbidden, "sending to \(origin.host), port \(origin.port), is not allowed")
            }
        }
        return taken
    }

    private func accept(_ request: PushRequest, to origin: Endpoint) {
        do throws(TransportError) {
            let client = try client(for: origin)
            client.context.now = monotonicNow()
            client.accept(request)
        } catch {
            refuse(request, .local, "\(error)")
        }
    }

    private func refuse(_ request: PushRequest, _ cause: FateCause, _ detail: String) {
        refusals.append(PushAnswer(tag: request.tag, without: .notSent, cause: cause, detail: detail))
    }

    private func client(for origin: Endpoint) throws(TransportError) -> OriginClient {
        if let client = clients[origin] { return client }
        let rules = OriginRules(
            destinations: options.destinations,
            idleTimeout: options.idleTimeout.nanoseconds,
            budget: budget,
            callBudget: options.callBudget,
            trustStore: trustStore
        )
        let client = try OriginClient(endpoint: origin, options: options.transport, rules: rules)
        client.sendUntil = sendUntil
        clients[origin] = client
        order.append(client)
        return client
    }

    /// Sends, receives, and waits until an answer arrives, a slot becomes free, or a waker is called.
    ///
    /// - Parameters:
    ///   - timeout: the longest time to wait; with zero the call does only what is possible at once.
    ///   - answers: the array to which answers are appended.
    public func poll(timeout: Duration, into answers: inout [PushAnswer]) {
        var now = monotonicNow()
        let end = now + timeout.nanoseconds
        let hadSlots = freeSlots > 0
        let before = answers.count
        takeRefusals(into: &answers)
        while true {
            for client in order { client.beginRound(now: now, into: &answers) }
            makeRoom()
            let hasNews = answers.count > before || (!hadSlots && freeSlots > 0)
            let isWoken = wait(from: now, until: hasNews ? now : min(end, nextEvent()))
            now = monotonicNow()
            for client in order { client.context.now = now }
            for (connection, socket) in watchList.ready { connection.act(on: socket) }
            for client in order { client.work(into: &answers) }
            removeIdleClients(now: now)
            if isWoken || answers.count > before || now >= end || (!hadSlots && freeSlots > 0) { return }
        }
    }

    /// Stops a connection from accepting requests.
    ///
    /// - Parameter connection: the name of the connection in an answer; a name of a closed connection is ignored.
    public func retire(_ connection: UInt64) {
        for client in order { client.retire(connection) }
    }

    /// Closes all connections.
    ///
    /// Requests in flight are answered as ambiguous or not sent.
    ///
    /// - Parameter answers: the array to which the last answers are appended.
    public func close(into answers: inout [PushAnswer]) {
        isClosed = true
        takeRefusals(into: &answers)
        for client in order { client.close(into: &answers) }
        watchList = WatchList()
    }

    private func takeRefusals(into answers: inout [PushAnswer]) {
        answers += refusals
        refusals = []
    }

    /// Returns when a timeout is due even if no socket becomes ready.
    private func nextEvent() -> MonotonicTime {
        order.reduce(.max) { min($0, $1.nextEvent()) }
    }

    /// Waits until a socket is ready or a moment is reached.
    ///
    /// - Returns: whether a waker was called.
    private func wait(from now: MonotonicTime, until moment: MonotonicTime) -> Bool {
        if clientsChanged || order.contains(where: \.context.socketsChanged) {
            clientsChanged = false
            for client in order { client.context.socketsChanged = false }
            watchList.rebuild(waker: wakeSignal.descriptor, connections: order.flatMap(\.connections))
        }
        watchList.wait(nanoseconds: moment == .max ? .max - 1_000_000 : moment - now)
        guard watchList.isWoken else { return false }
        wakeSignal.consume()
        return true
    }

    /// Closes idle connections when the limit is reached: the longest idle one for each origin that has no connection
    /// and needs one.
    private func makeRoom() {
        guard budget.left == 0 else { return }
        for needy in order where !needy.queue.isEmpty && needy.connections.isEmpty {
            let idle = order.flatMap { client in client.connections.filter(\.machine.isIdle).map { (client, $0) } }
            guard let (owner, connection) = idle.min(by: { $0.1.machine.lastAnswerAt < $1.1.machine.lastAnswerAt })
            else { return }
            connection.machine.retire()
            owner.tendConnections()
            needy.placeQueued()
        }
    }

    /// Removes the clients of origins that have been idle for longer than the idle timeout.
    private func removeIdleClients(now: MonotonicTime) {
        let timeout = options.idleTimeout.nanoseconds
        guard order.contains(where: { $0.isForgettable(now: now, after: timeout) }) else { return }
        for (origin, client) in clients where client.isForgettable(now: now, after: timeout) {
            past.established += client.context.state.established
            past.lost += client.context.state.lost
            clients[origin] = nil
            order.removeAll { $0 === client }
        }
        clientsChanged = true
    }
}
