internal import CCurl
import Glibc
internal import PushTransport

/// One HTTP/2 connection: a libcurl multi handle that may open one connection only.
///
/// Each connection has a multi handle of its own, because the CPU cost per request grows with the number of handles in
/// one, and because a new connection needs a narrow window while an old one has a wide one. libcurl refers to the
/// object by raw pointers, so it must be closed before it is released.
@safe
final class Connection {
    /// The phase and the window of the connection.
    var machine: ConnectionStateMachine
    /// The connection's name in answers.
    let name: UInt64
    /// When libcurl has to be called even if no socket is ready.
    var timerAt = MonotonicTime.max
    /// Whether a request was taken back because the connection made no progress.
    var isSuspect = false
    /// The sockets that libcurl waits for.
    private(set) var watched: [pollfd] = []
    /// The last address to which a connection was refused by policy.
    private var refusedAddress: IPAddress?
    private var hasPermittedAddress = false
    /// The remaining read limit of the current call of libcurl.
    private var budget = CallBudget()
    /// Whether the peer exceeded the read limit without sending an answer.
    private(set) var isFlooded = false
    private let multi: UnsafeMutableRawPointer
    private let context: TransferContext
    private var isClosed = false

    private init(owning multi: UnsafeMutableRawPointer, machine: ConnectionStateMachine, context: TransferContext) {
        unsafe self.multi = multi
        self.machine = machine
        self.context = context
        name = context.rules.budget.take()
    }

    deinit { precondition(isClosed, "a Connection was let go before close()") }

    /// Creates a connection, which connects when it gets its first transfer.
    static func open(streams: Int, context: TransferContext) throws(TransportError) -> Connection {
        guard let multi = unsafe curl_multi_init() else {
            throw TransportError(reason: .call("curl_multi_init", problem: "out of memory"))
        }
        let connection = unsafe Connection(
            owning: multi,
            machine: ConnectionStateMachine(streams: streams),
            context: context
        )
        do throws(TransportError) {
            try connection.configure(streams: streams)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }

    private func configure(streams: Int) throws(TransportError) {
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        let multiplex = Int(CURLPIPE_MULTIPLEX)
        try check("PIPELINING", unsafe ccurl_multi_setopt_long(multi, CURLMOPT_PIPELINING, multiplex))
        // With this limit, requests above the peer's stream limit wait inside libcurl instead of opening a second
        // connection.
        try check("MAX_HOST_CONNECTIONS", unsafe ccurl_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1))
        try check(
            "MAX_CONCURRENT_STREAMS",
            unsafe ccurl_multi_setopt_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, streams)
        )
        try check("SOCKETFUNCTION", unsafe ccurl_multi_setopt_socket(multi, socketChanged, me))
        try check("TIMERFUNCTION", unsafe ccurl_multi_setopt_timer(multi, timerChanged, me))
    }

    /// Adds a transfer, which libcurl starts in the next ``act(ready:)``.
    func add(_ transfer: Transfer) throws(TransportError) {
        transfer.connection = self
        transfer.attachedAt = context.now
        do throws(TransportError) {
            try check("curl_multi_add_handle", unsafe curl_multi_add_handle(multi, transfer.easy))
        } catch {
            transfer.connection = nil
            throw error
        }
        machine.attach()
    }

    /// Removes a transfer; the stream of an unfinished one is reset.
    func remove(_ transfer: Transfer) {
        let code = unsafe curl_multi_remove_handle(multi, transfer.easy)
        assert(code == CURLM_OK, "curl_multi_remove_handle: \(code)")
        transfer.connection = nil
    }

    /// Whether libcurl may open a socket; see ``ConnectionStateMachine/permitSocket()``.
    func permitSocket() -> Bool {
        let wasEstablished = machine.phase == .established
        guard !machine.permitSocket() else { return true }
        if wasEstablished { context.state.lost += 1 }
        return false
    }

    /// Whether libcurl may connect to an address; checked after the name was resolved.
    func permitAddress(_ address: UnsafePointer<curl_sockaddr>) -> Bool {
        let resolved = unsafe IPAddress(address)
        if let resolved, context.rules.destinations.allows(resolved, of: context.endpoint) {
            hasPermittedAddress = true
            return true
        }
        refusedAddress = resolved
        return false
    }

    /// The reason why connecting is forbidden, if every address of the host was refused.
    var refusal: String? {
        guard !hasPermittedAddress, let refusedAddress else { return nil }
        let problem = refusedAddress.isPublic ? "its port is not allowed" : "it is not public"
        return "connecting to \(refusedAddress) is forbidden: \(problem)"
    }

    /// Retires the connection because it is broken.
    func lose() {
        if machine.phase == .established { context.state.lost += 1 }
        machine.retire()
    }

    /// Lets libcurl process one socket.
    func act(on ready: pollfd) {
        var events: Int32 = 0
        if ready.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { events |= CURL_CSELECT_IN }
        if ready.revents & Int16(POLLOUT) != 0 { events |= CURL_CSELECT_OUT }
        if ready.revents & Int16(POLLERR | POLLNVAL) != 0 { events |= CURL_CSELECT_ERR }
        call(ready.fd, events)
    }

    /// Lets every transfer check the connection, whether or not its socket is readable.
    ///
    /// When the peer sends a TLS close, libcurl 7.88 reports it to one transfer only. The others would notice when the
    /// peer closes the socket, which may be much later.
    func actOnAll() {
        for socket in watched { call(socket.fd, CURL_CSELECT_IN) }
    }

    /// Lets libcurl process its timers that are due.
    func actOnTimer() {
        guard timerAt <= context.now else { return }
        timerAt = .max
        call(CURL_SOCKET_TIMEOUT, 0)
    }

    private func call(_ socket: curl_socket_t, _ events: Int32) {
        budget = context.rules.callBudget
        var running: Int32 = 0
        _ = unsafe curl_multi_socket_action(multi, socket, events, &running)
    }

    /// Counts the bytes that libcurl read, and fails the connection if the limit is exceeded.
    func count(_ bytes: Int) {
        guard budget.take(bytes, now: monotonicNow) else { return }
        isFlooded = true
        for socket in watched { _ = shutdown(socket.fd, Int32(SHUT_RDWR)) }
    }

    /// Returns the next transfer that libcurl has finished, removed from the multi handle, and its result.
    func nextFinished() -> (transfer: Transfer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            let code = unsafe ccurl_message_result(message)
            guard let transfer = unsafe Transfer.behind(message.pointee.easy_handle) else { continue }
            remove(transfer)
            return (transfer, code)
        }
        return nil
    }

    /// Closes the connection.
    ///
    /// All transfers must have been removed before, because libcurl would otherwise free in the wrong order.
    func close() {
        guard !isClosed else { return }
        precondition(machine.attached == 0, "a Connection was closed with transfers in it")
        isClosed = true
        context.rules.budget.give()
        _ = unsafe curl_multi_cleanup(multi)
        watched = []
        context.socketsChanged = true
    }

    fileprivate func watch(_ socket: curl_socket_t, _ what: Int32) {
        context.socketsChanged = true
        watched.removeAll { $0.fd == socket }
        guard what != CURL_POLL_REMOVE else { return }
        var events = Int16(0)
        if what & CURL_POLL_IN != 0 { events |= Int16(POLLIN) }
        if what & CURL_POLL_OUT != 0 { events |= Int16(POLLOUT) }
        watched.append(pollfd(fd: socket, events: events, revents: 0))
    }

    fileprivate func setTimer(milliseconds: Int) {
        timerAt = milliseconds < 0 ? .max : context.now + Int64(milliseconds) * 1_000_000
    }
}

private func socketChanged(
    _ easy: UnsafeMutableRawPointer?,
    _ socket: curl_socket_t,
    _ what: Int32,
    _ context: UnsafeMutableRawPointer?,
    _ socketContext: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
    return 0
}

private func timerChanged(
    _ multi: UnsafeMutableRawPointer?,
    _ milliseconds: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().setTimer(milliseconds: milliseconds)
    return 0
}

extension IPAddress {
    /// The address libcurl is about to connect to; nil if it is neither IPv4 nor IPv6.
    fileprivate init?(_ address: UnsafePointer<curl_sockaddr>) {
        var bytes = [UInt8](repeating: 0, count: 16)
        let family = unsafe ccurl_address(address, &bytes)
        switch family {
        case 4: self.init(v4: bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) })
        case 6: self.init(v6: bytes.reduce(0) { $0 << 8 | UInt128($1) })
        default: return nil
        }
    }
}
