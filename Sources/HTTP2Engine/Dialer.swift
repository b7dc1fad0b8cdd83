internal import CNGHTTP2
import Glibc
internal import PushTransport
internal import Threading

/// Opens a TCP connection to an endpoint: resolves the name and tries the addresses one after another.
///
/// The remaining time is divided among the addresses, so that an unreachable IPv4 or IPv6 address leaves time for the
/// other family.
final class Dialer {
    /// The state of the connection attempt.
    enum Progress: Equatable {
        /// Waiting for the resolver or the socket.
        case waiting
        /// Connected; the caller now owns the socket.
        case connected(Int32)
        /// All addresses failed, for this reason.
        case failed(String)
    }

    /// The socket that is being connected; the caller polls it for writing.
    private(set) var descriptor: Int32 = -1
    private let endpoint: Endpoint
    private let userTimeout: UInt32
    private let deadline: MonotonicTime
    private var resolution: Resolution?
    private var addresses: ArraySlice<SocketAddress> = []
    private var attemptDeadline = MonotonicTime.max
    private var lastProblem = "connecting took too long"

    init(_ endpoint: Endpoint, _ options: TransportOptions, waking waker: WakeSignal, now: MonotonicTime) {
        self.endpoint = endpoint
        userTimeout = options.tcpUserTimeoutMilliseconds
        deadline = now + options.connectTimeout.nanoseconds
        resolution = Resolution.start(endpoint, waking: waker)
    }

    deinit { closeSocket() }

    /// When ``advance(now:)`` has to be called even if nothing is ready.
    var nextEvent: MonotonicTime { min(deadline, attemptDeadline) }

    /// Advances as far as possible without blocking.
    func advance(now: MonotonicTime) -> Progress {
        if let resolution {
            switch resolution.result {
            case nil: return now < deadline ? .waiting : .failed("resolving \(endpoint.host) took too long")
            case .failed(let problem): return .failed(problem)
            case .addresses(let found): addresses = found[...]
            }
            self.resolution = nil
        }
        while true {
            if descriptor >= 0 {
                if let progress = checkSocket(now: now) { return progress }
                closeSocket()
            }
            guard now < deadline, let address = addresses.popFirst() else {
                return .failed("connecting to \(endpoint.authority) failed: \(lastProblem)")
            }
            connect(address, now: now)
        }
    }

    /// - Returns: nil if this address failed and the next one is to be tried.
    private func checkSocket(now: MonotonicTime) -> Progress? {
        var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard unsafe Glibc.poll(&poll, 1, 0) > 0 else {
            if now < nextEvent { return .waiting }
            lastProblem = "no answer in time"
            return nil
        }
        let code = cnghttp2_socket_error(descriptor)
        guard code == 0 else {
            lastProblem = unsafe String(cString: strerror(code))
            return nil
        }
        defer { descriptor = -1 }
        return .connected(descriptor)
    }

    private func connect(_ address: SocketAddress, now: MonotonicTime) {
        attemptDeadline = now + (deadline - now) / Int64(addresses.count + 1)
        descriptor = cnghttp2_socket(address.family, userTimeout)
        guard descriptor >= 0 else {
            lastProblem = unsafe String(cString: strerror(errno))
            return
        }
        let code = unsafe address.bytes.withUnsafeBytes { bytes -> Int32 in
            guard let name = unsafe bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return -1 }
            return unsafe Glibc.connect(descriptor, name, socklen_t(bytes.count))
        }
        guard code != 0, errno != EINPROGRESS, errno != EINTR else { return }
        lastProblem = unsafe String(cString: strerror(errno))
        closeSocket()
    }

    private func closeSocket() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }
}
