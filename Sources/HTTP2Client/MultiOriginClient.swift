public import PushTransport
internal import Threading

/// A ``PushTransport`` to many origins, named by the requests: whoever registers a browser or a webhook names them.
///
/// Connects only where a ``DestinationPolicy`` allows it; what it forbids is answered as not sent with
/// ``FateCause/forbidden``, and counts as no failure of anybody. Each origin has an ``HTTP2Client`` of its own, with the
/// same promises, but may choose HTTP/1.1. What its server says is cut off at 64 KiB, redirects are not followed.
///
/// Owned by one thread.
public final class MultiOriginClient: PushTransport {
    private let options: MultiOriginOptions
    private let budget: ConnectionBudget
    private let trustStore: MemoryFile?
    private let wakeSignal: WakeSignal
    /// By origin; in order of their first use too, so that a round takes them in turn.
    private var clients: [Endpoint: HTTP2Client] = [:]
    private var order: [HTTP2Client] = []
    private var watchList = WatchList()
    private var clientsChanged = true
    /// Answers to what was forbidden by name.
    private var refusals: [PushAnswer] = []
    /// What clients that are gone had counted.
    private var past = TransportState()
    private var isClosed = false

    /// Nothing is put on the wire after this moment; see ``PushTransport/sendUntil``.
    public var sendUntil: ContinuousClock.Instant {
        didSet { for client in order { client.sendUntil = sendUntil } }
    }

    /// Makes a transport; it connects when there is something to send.
    ///
    /// - Parameter options: how to behave.
    /// - Throws: ``TransportError`` if the CA file is of no use or libcurl cannot do what is needed.
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

    /// Wakes the poll from any thread.
    public var waker: any TransportWaker { wakeSignal }

    /// How many requests were taken and not yet answered.
    public var inFlight: Int { order.reduce(0) { $0 + $1.inFlight } }

    /// Never: its slots are those of all origins together, however many connections there are.
    public var isGrowing: Bool { false }

    /// How many requests ``submit(_:)`` takes now, whatever their origins; see ``freeSlots(for:)``.
    public var freeSlots: Int { isClosed ? 0 : max(options.requests - inFlight, 0) }

    /// How many requests to one origin ``submit(_:)`` takes now.
    ///
    /// Until one is answered, only as many as there may be connections: more would only wait here for somebody who may not
    /// be there.
    ///
    /// - Parameter origin: where they would go.
    /// - Returns: their number, at most ``freeSlots``.
    public func freeSlots(for origin: Endpoint) -> Int {
        let client = clients[origin]
        let streams = client?.isOpen == true ? options.transport.streams : 1
        let most = max(options.transport.connections * streams, 1)
        return min(freeSlots, max(most - (client?.inFlight ?? 0), 0))
    }

    /// Connections to all origins together.
    ///
    /// `failedConnectsInARow` is that of the origin which has the fewest: if it is large, no origin works.
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

    /// Connections to one origin and their recent failures.
    ///
    /// - Parameter origin: which one.
    /// - Returns: its state; that of a transport that has done nothing if it has not been used lately.
    public func state(of origin: Endpoint) -> TransportState { clients[origin]?.state ?? TransportState() }

    /// Takes requests, from the front, until one finds no free slot for its origin.
    ///
    /// One without an origin is a programmer's error.
    ///
    /// - Parameter requests: what to send.
    /// - Returns: how many were taken; the rest stays the caller's.
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

    private func client(for origin: Endpoint) throws(TransportError) -> HTTP2Client {
        if let client = clients[origin] { return client }
        let rules = OriginRules(
            destinations: options.destinations,
            allowsHTTP1: true,
            idleTimeout: options.idleTimeout.nanoseconds,
            budget: budget,
            trustStore: trustStore
        )
        let client = try HTTP2Client(endpoint: origin, options: options.transport, rules: rules)
        client.sendUntil = sendUntil
        clients[origin] = client
        order.append(client)
        return client
    }

    /// Sends, receives, and waits until there is an answer, a slot came free, or somebody woke it.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait at most; zero only does what can be done at once.
    ///   - answers: answers are appended here.
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

    /// Lets a connection take no more requests.
    ///
    /// - Parameter connection: as an answer named it; one that is gone by now is no error.
    public func retire(_ connection: UInt64) {
        for client in order { client.retire(connection) }
    }

    /// Ends all connections at once.
    ///
    /// What is in flight is answered as ambiguous, or not sent.
    ///
    /// - Parameter answers: the last answers are appended here.
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

    /// When something has to be done even if no socket becomes ready.
    private func nextEvent() -> MonotonicTime {
        order.reduce(.max) { min($0, $1.nextEvent(wantsSlot: false)) }
    }

    /// Waits for sockets.
    ///
    /// - Returns: whether somebody woke it.
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

    /// Where no more connections may be opened, closes the one that has been idle the longest for each origin that has
    /// none and needs one.
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

    /// Forgets origins that have had no work for as long as a connection may be idle.
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
