import Glibc
internal import PushTransport

/// The setup of one connection: dials, asks the proxy for a tunnel if there is one, and does the TLS handshake.
final class ConnectionSetup {
    /// The result of a step.
    enum Progress {
        /// Waiting for the resolver or the socket.
        case waiting
        /// The handshake is completed.
        case ready(TLSChannel)
        /// The setup failed, for this reason.
        case failed(FateCause, String)
    }

    private enum Step {
        /// Connecting to the endpoint or to the proxy. Can transition to: greeting, tunnelling, shaking.
        case dialing(Dialer)
        /// In the TLS handshake with the proxy. Can transition to: tunnelling.
        case greeting(TLSChannel)
        /// Waiting for the proxy's answer to CONNECT. Can transition to: shaking.
        case tunnelling(Tunnel)
        /// In the TLS handshake with the endpoint.
        case shaking(TLSChannel)
    }

    private let setting: Connection.Setting
    private var step: Step
    private var descriptor: Int32 = -1
    private let deadline: MonotonicTime

    init(_ setting: Connection.Setting, now: MonotonicTime) {
        self.setting = setting
        deadline = now + setting.options.connectTimeout.nanoseconds
        let target = setting.options.proxy?.endpoint ?? setting.endpoint
        step = .dialing(Dialer(target, setting.options, waking: setting.waker, now: now))
    }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// When ``advance(now:)`` has to be called even if nothing is ready.
    var nextEvent: MonotonicTime {
        if case .dialing(let dialer) = step { return min(dialer.nextEvent, deadline) }
        return deadline
    }

    /// The socket to poll, or -1; it may be another one after each call while ``isDialing``.
    var watched: (socket: Int32, wantsWrite: Bool) {
        switch step {
        case .dialing(let dialer): (dialer.descriptor, true)
        case .tunnelling(let tunnel): (descriptor, tunnel.wantsWrite)
        case .greeting(let channel), .shaking(let channel): (descriptor, channel.wantsWrite)
        }
    }

    /// Whether no address has accepted the connection yet.
    var isDialing: Bool {
        if case .dialing = step { true } else { false }
    }

    /// Gives the socket to the caller, who has to close it.
    func takeSocket() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }

    /// Advances as far as possible without blocking.
    func advance(now: MonotonicTime) -> Progress {
        do throws(SetupFailure) {
            if let channel = try advanceSteps(now: now) { return .ready(channel) }
        } catch {
            return .failed(error.cause, error.detail)
        }
        return now < deadline ? .waiting : .failed(.connect, through("connecting took too long"))
    }

    /// - Returns: the channel after the last handshake; nil while waiting.
    private func advanceSteps(now: MonotonicTime) throws(SetupFailure) -> TLSChannel? {
        while true {
            switch step {
            case .dialing(let dialer):
                switch dialer.advance(now: now) {
                case .waiting: return nil
                case .failed(let problem): throw SetupFailure(.connect, through(problem))
                case .connected(let socket):
                    descriptor = socket
                    step = try afterDialing()
                }
            case .greeting(let channel):
                guard try shake(channel) else { return nil }
                step = try local { () throws(TransportError) in try tunnelling(.through(channel)) }
            case .tunnelling(let tunnel):
                switch tunnel.advance() {
                case .blocked: return nil
                case .failed(let problem): throw SetupFailure(.connect, problem)
                case .open: step = try local { () throws(TransportError) in try shaking(tunnel.link) }
                }
            case .shaking(let channel):
                return try shake(channel) ? channel : nil
            }
        }
    }

    private func afterDialing() throws(SetupFailure) -> Step {
        try local { () throws(TransportError) in
            let link = try ByteLink.over(descriptor)
            guard let proxy = setting.options.proxy else { return try shaking(link) }
            guard let context = setting.proxyTLS else { return try tunnelling(link) }
            let host = proxy.endpoint.host
            return .greeting(try TLSChannel.open(context, TLSTicket(), over: link, host: host, speaks: .http1))
        }
    }

    private func tunnelling(_ link: ByteLink) throws(TransportError) -> Step {
        guard let proxy = setting.options.proxy else { return try shaking(link) }
        return .tunnelling(try Tunnel(link, to: setting.endpoint, through: proxy))
    }

    private func shaking(_ link: ByteLink) throws(TransportError) -> Step {
        .shaking(try TLSChannel.open(setting.tls, setting.ticket, over: link, host: setting.endpoint.host))
    }

    /// - Returns: whether the handshake is completed.
    private func shake(_ channel: TLSChannel) throws(SetupFailure) -> Bool {
        switch channel.handshake() {
        case .blocked: return false
        case .ended(let problem): throw SetupFailure(.tls, through(problem))
        case .done: return true
        }
    }

    private func local(_ make: () throws(TransportError) -> Step) throws(SetupFailure) -> Step {
        do throws(TransportError) {
            return try make()
        } catch {
            throw SetupFailure(.local, error.description)
        }
    }

    private func through(_ problem: String) -> String {
        setting.options.proxy.map { "through proxy \($0): \(problem)" } ?? problem
    }
}

/// The reason why a setup failed.
private struct SetupFailure: Error {
    let cause: FateCause
    let detail: String

    init(_ cause: FateCause, _ detail: String) { (self.cause, self.detail) = (cause, detail) }
}
