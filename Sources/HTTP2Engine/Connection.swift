import Glibc
internal import PushTransport
internal import Threading

/// One connection of an ``HTTP2Engine``: gets a socket, shakes hands, and carries bytes between it and its session.
final class Connection {
    /// What a connection needs of its engine.
    struct Setting {
        let endpoint: Endpoint
        let options: TransportOptions
        let tls: TLSContext
        let ticket: TLSTicket
        /// Woken by the resolver.
        let waker: WakeSignal
    }

    /// How far it is.
    private enum Stage {
        case dialing(Dialer)
        case shaking(TLSChannel)
        case open(TLSChannel)
        case closed
    }

    /// Why it ended.
    struct Failure {
        let cause: FateCause
        let detail: String
    }

    /// The life of the connection.
    var machine: ConnectionStateMachine
    let session: Session
    /// What the engine's poller calls it.
    let name: UInt64
    /// It is over; what is in it has to be given its fate.
    private(set) var failure: Failure?
    /// There may be more to read though the socket is not ready: reading stopped to leave others their turn.
    private(set) var hasMore = false
    /// The poller saw its socket ready.
    var isReady = false
    private let setting: Setting
    private var stage: Stage
    private var descriptor: Int32 = -1
    private let connectDeadline: MonotonicTime
    private var watchedForWrite: Bool?

    private init(_ setting: Setting, session: Session, name: UInt64, now: MonotonicTime) {
        self.setting = setting
        self.session = session
        self.name = name
        machine = ConnectionStateMachine(streams: setting.options.streams)
        connectDeadline = now + setting.options.connectTimeout.nanoseconds
        stage = .dialing(Dialer(setting.endpoint, setting.options, waking: setting.waker, now: now))
    }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// Makes a connection, which begins to resolve.
    static func open(_ setting: Setting, name: UInt64, now: MonotonicTime) throws(TransportError) -> Connection {
        let session = try Session.open(setting.endpoint.authority, setting.options)
        return Connection(setting, session: session, name: name, now: now)
    }

    /// When it has to be looked at though nothing is ready; deadlines of requests are the engine's.
    var nextEvent: MonotonicTime {
        switch stage {
        case .dialing(let dialer): min(dialer.nextEvent, connectDeadline)
        case .shaking: connectDeadline
        case .open: machine.nextDemand
        case .closed: .max
        }
    }

    /// Goes on with whatever it is at.
    ///
    /// - Returns: whether the handshake was completed by this.
    func advance(now: MonotonicTime) -> Bool {
        if case .dialing(let dialer) = stage { dial(dialer, now: now) }
        guard case .shaking(let channel) = stage else { return false }
        switch channel.handshake() {
        case .blocked:
            if now >= connectDeadline { end(.connect, "connecting took too long") }
            return false
        case .ended(let problem):
            end(.tls, problem)
            return false
        case .done:
            stage = .open(channel)
            machine.establish(now: now)
            return true
        }
    }

    private func dial(_ dialer: Dialer, now: MonotonicTime) {
        switch dialer.advance(now: now) {
        case .waiting:
            if now >= connectDeadline { end(.connect, "connecting took too long") }
        case .failed(let problem):
            end(.connect, problem)
        case .connected(let socket):
            descriptor = socket
            do throws(TransportError) {
                let channel = try TLSChannel.open(
                    setting.tls,
                    setting.ticket,
                    descriptor: socket,
                    host: setting.endpoint.host
                )
                stage = .shaking(channel)
            } catch {
                end(.local, error.description)
            }
        }
    }

    /// Writes what there is to say and what waits to be sent, until the socket takes no more.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - sendUntil: nothing may begin after this moment.
    func write(now: MonotonicTime, sendUntil: ContinuousClock.Instant) {
        guard case .open(let channel) = stage else { return }
        while failure == nil {
            let isTooLate = ContinuousClock.now >= sendUntil
            if isTooLate && session.hasOutgoing && session.holdsUnsentRequest {
                // What the socket did not take can be called back only by ending the connection.
                return end(.sendUntil, "the time to send had ended")
            }
            session.fill(now: now, isTooLate: isTooLate)
            guard session.hasOutgoing else { break }
            guard write(to: channel) else { break }
        }
        if failure == nil, let problem = session.failure { end(.lost, problem) }
        if failure == nil, session.isOver { end(.lost, "the server ended the session") }
    }

    /// - Returns: whether the socket took it.
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

    /// Reads what has come and gives it to the session.
    ///
    /// - Parameters:
    ///   - buffer: room to read into.
    ///   - now: the time.
    func read(into buffer: UnsafeMutableRawBufferPointer, now: MonotonicTime) {
        guard case .open(let channel) = stage, failure == nil else { return }
        hasMore = false
        // Bounded, so that a connection on which much comes leaves the others their turn.
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

    /// Does what time demands: a PING after silence, the end after more of it.
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

    /// Lets a poller watch what it waits for.
    func watch(by poller: borrowing Poller) {
        let (socket, wantsWrite): (Int32, Bool) =
            switch stage {
            case .dialing(let dialer): (dialer.descriptor, true)
            case .shaking(let channel): (descriptor, channel.wantsWrite)
            case .open(let channel): (descriptor, channel.wantsWrite || session.hasOutgoing)
            case .closed: (-1, false)
            }
        guard socket >= 0, wantsWrite != watchedForWrite else { return }
        poller.watch(socket, named: name, wantsWrite: wantsWrite)
        // While it dials, another socket may have got the same number.
        if case .dialing = stage { return }
        watchedForWrite = wantsWrite
    }

    /// Says goodbye where somebody may hear it, and closes the socket.
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

    /// Ends it, for a reason.
    func end(_ cause: FateCause, _ detail: String) {
        guard failure == nil else { return }
        failure = Failure(cause: cause, detail: detail)
    }
}
