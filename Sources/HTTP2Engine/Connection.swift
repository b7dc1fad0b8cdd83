import Glibc
internal import PushTransport
internal import Threading

/// One connection of an ``HTTP2Engine``: moves bytes between the socket and the session.
final class Connection {
    /// The values that a connection gets from its engine.
    struct Setting {
        let endpoint: Endpoint
        let options: TransportOptions
        let tls: TLSContext
        /// For the TLS connection to the proxy; nil without such a proxy.
        let proxyTLS: TLSContext?
        let ticket: TLSTicket
        /// Woken when the resolver has a result.
        let waker: WakeSignal
    }

    private enum Stage {
        /// Not usable yet. Can transition to: open, closed.
        case opening(ConnectionSetup)
        /// Ready for requests. Can transition to: closed.
        case open(TLSChannel)
        /// Final.
        case closed
    }

    /// The reason why the connection ended.
    struct Failure {
        let cause: FateCause
        let detail: String
    }

    /// The phase and the window of the connection.
    var machine: ConnectionStateMachine
    let session: Session
    /// The name under which the engine's poller knows the connection.
    let name: UInt64
    /// The reason why the connection ended; its remaining requests have to be answered.
    private(set) var failure: Failure?
    /// Whether more bytes may be readable although the socket is not reported ready: reading stopped so that other
    /// connections get their turn.
    private(set) var hasMore = false
    /// Whether the poller reported the socket as ready.
    var isReady = false
    private var stage: Stage
    private var descriptor: Int32 = -1
    private var watchedForWrite: Bool?

    private init(_ setting: Setting, session: Session, name: UInt64, now: MonotonicTime) {
        self.session = session
        self.name = name
        machine = ConnectionStateMachine(streams: setting.options.streams)
        stage = .opening(ConnectionSetup(setting, now: now))
    }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// Creates a connection and starts to resolve its endpoint.
    static func open(_ setting: Setting, name: UInt64, now: MonotonicTime) throws(TransportError) -> Connection {
        let session = try Session.open(setting.endpoint.authority, setting.options)
        return Connection(setting, session: session, name: name, now: now)
    }

    /// The time of the next timeout of this connection; the engine keeps the deadlines of requests.
    var nextEvent: MonotonicTime {
        switch stage {
        case .opening(let setup): setup.nextEvent
        case .open: machine.nextDemand
        case .closed: .max
        }
    }

    /// Advances the setup as far as possible without blocking.
    ///
    /// - Returns: whether this call completed it.
    func advance(now: MonotonicTime) -> Bool {
        guard case .opening(let setup) = stage else { return false }
        switch setup.advance(now: now) {
        case .waiting: return false
        case .failed(let cause, let problem):
            end(cause, problem)
            return false
        case .ready(let channel):
            descriptor = setup.takeSocket()
            stage = .open(channel)
            machine.establish(now: now)
            return true
        }
    }

    /// Writes the session's frames and the waiting requests until the socket would block.
    ///
    /// - Parameters:
    ///   - now: the current time.
    ///   - sendUntil: no request is started after this moment.
    func write(now: MonotonicTime, sendUntil: ContinuousClock.Instant) {
        guard case .open(let channel) = stage else { return }
        while failure == nil {
            let isTooLate = ContinuousClock.now >= sendUntil
            if isTooLate && session.hasOutgoing && session.holdsUnsentRequest {
                // Bytes that the socket has not taken can only be dropped by closing the connection.
                return end(.sendUntil, "the time to send had ended")
            }
            session.fill(now: now, isTooLate: isTooLate)
            guard session.hasOutgoing else { break }
            guard write(to: channel) else { break }
        }
        if failure == nil, let problem = session.failure { end(.lost, problem) }
        if failure == nil, session.isOver { end(.lost, "the server ended the session") }
    }

    /// - Returns: whether the socket took any bytes.
    private func write(to channel: TLSChannel) -> Bool {
        var progress = TLSChannel.Progress.blocked
        unsafe session.withOutgoing { bytes in
            progress = unsafe channel.write(bytes)
            if case .done(let count) = progress { return count }
            return 0
        }
        if case .ended(let problem) = progress { end(.lost, problem) }
        if case .done = progress { return true }
        return false
    }

    /// Reads from the socket and passes the bytes to the session.
    ///
    /// - Parameters:
    ///   - buffer: the buffer to read into.
    ///   - now: the current time.
    func read(into buffer: UnsafeMutableRawBufferPointer, now: MonotonicTime) {
        guard case .open(let channel) = stage, failure == nil else { return }
        hasMore = false
        // The number of reads is bounded, so that a connection with much input does not starve the others.
        for _ in 0..<16 where failure == nil {
            let (count, progress) = unsafe channel.read(into: buffer)
            if count > 0 {
                machine.hear(now: now)
                unsafe session.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                hear()
            }
            switch progress {
            case .done: continue
            case .blocked: return
            case .ended(let problem): return end(.lost, problem)
            }
        }
        hasMore = true
    }

    private func hear() {
        if let limit = session.takeLimit() { machine.limit(limit) }
        if session.goaway != nil { machine.retire() }
        if let problem = session.failure { end(.lost, problem) }
    }

    /// Sends a PING after a period of silence, and ends the connection after a longer one.
    func tend(now: MonotonicTime) {
        guard failure == nil else { return }
        switch machine.demand(now: now) {
        case .nothing: break
        case .ping:
            session.ping()
            machine.ping(now: now)
        case .dead: end(.lost, "the server did not answer a PING")
        }
    }

    /// Registers the socket with a poller for the events that the connection waits for.
    func watch(by poller: borrowing Poller) {
        let (socket, wantsWrite): (Int32, Bool) =
            switch stage {
            case .opening(let setup): setup.watched
            case .open(let channel): (descriptor, channel.wantsWrite || session.hasOutgoing)
            case .closed: (-1, false)
            }
        guard socket >= 0, wantsWrite != watchedForWrite else { return }
        poller.watch(socket, named: name, wantsWrite: wantsWrite)
        // While dialing, a new socket may have got the same descriptor number.
        if case .opening(let setup) = stage, setup.isDialing { return }
        watchedForWrite = wantsWrite
    }

    /// Sends GOAWAY and the TLS close where a session is established, and closes the socket.
    func close() {
        if case .open(let channel) = stage, failure == nil {
            session.terminate()
            _ = write(to: channel)
            channel.shutdown()
        }
        stage = .closed
        machine.retire()
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Marks the connection as ended, with a reason.
    func end(_ cause: FateCause, _ detail: String) {
        guard failure == nil else { return }
        failure = Failure(cause: cause, detail: detail)
    }
}
