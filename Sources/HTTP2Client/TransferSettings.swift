internal import CCurl
import Glibc
internal import PushTransport

/// The libcurl settings that are the same for all requests to an endpoint.
@safe
final class TransferSettings {
    private let url: ParsedURL
    private let options: TransportOptions
    private let connection: ConnectionSettings
    /// The cache of TLS sessions for faster reconnects, shared by the multi handles of one transport on one thread.
    private let sessions: UnsafeMutableRawPointer?

    init(_ endpoint: Endpoint, _ options: TransportOptions, _ rules: OriginRules) throws(TransportError) {
        url = try ParsedURL("\(endpoint)/")
        self.options = options
        connection = try ConnectionSettings(
            caFile: options.caFile,
            clientCertificate: options.clientCertificate,
            // The address that is connected to is checked, and a proxy would hide it.
            proxy: nil,
            trustStore: rules.trustStore
        )
        let share = unsafe curl_share_init()
        unsafe sessions = share
        if let share = unsafe share, unsafe ccurl_share_sessions(share) != CURLSHE_OK {
            throw TransportError(reason: .call("curl_share_setopt", problem: "cannot share TLS sessions"))
        }
    }

    deinit { _ = unsafe curl_share_cleanup(sessions) }

    /// Applies the settings to a transfer's easy handle.
    func apply(to transfer: Transfer) throws(TransportError) {
        try unsafe connection.apply(to: transfer.easy)
        try setNetwork(transfer)
        try setRequest(transfer)
        try setCallbacks(transfer)
    }

    private func setNetwork(_ transfer: Transfer) throws(TransportError) {
        try unsafe url.apply(to: transfer.easy)
        // Each connection resolves the name again, as Apple recommends.
        try set(transfer, CURLOPT_DNS_CACHE_TIMEOUT, 0)
        try set(transfer, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connectTimeout))
        try set(transfer, CURLOPT_TCP_NODELAY, 1)
        try set(transfer, CURLOPT_TCP_KEEPALIVE, 1)
        try set(transfer, CURLOPT_TCP_KEEPIDLE, 60)
        try set(transfer, CURLOPT_TCP_KEEPINTVL, 10)
        // The transport enforces the maximum age, because it warms a successor first; these limits are the last resort.
        let seconds = max(milliseconds(options.maxConnectionAge) / 1000 * 2, 600)
        try set(transfer, CURLOPT_MAXAGE_CONN, seconds)
        try set(transfer, CURLOPT_MAXLIFETIME_CONN, seconds)
        try set(transfer, CURLOPT_PIPEWAIT, 1)
        try check("CURLOPT_SHARE", unsafe ccurl_setopt_pointer(transfer.easy, CURLOPT_SHARE, sessions))
    }

    private func setRequest(_ transfer: Transfer) throws(TransportError) {
        try set(transfer, CURLOPT_POST, 1)
        // Pushes and answers are short, so the buffers are small: libcurl allocates one of each for every request, and
        // malloc keeps blocks of up to 1032 bytes in a fast cache, without merging and splitting free memory.
        try set(transfer, CURLOPT_UPLOAD_BUFFERSIZE, 16 * 1024)
        try set(transfer, CURLOPT_BUFFERSIZE, 1024)
    }

    private func setCallbacks(_ transfer: Transfer) throws(TransportError) {
        let context = unsafe Unmanaged.passUnretained(transfer).toOpaque()
        let contexts = [
            CURLOPT_PRIVATE, CURLOPT_READDATA, CURLOPT_WRITEDATA, CURLOPT_PREREQDATA, CURLOPT_OPENSOCKETDATA,
        ]
        for option in contexts {
            try check("callback context", unsafe ccurl_setopt_pointer(transfer.easy, option, context))
        }
        try check("READFUNCTION", unsafe ccurl_setopt_read(transfer.easy, readBody))
        try check("SEEKFUNCTION", unsafe ccurl_setopt_seek(transfer.easy, refuseToRewind))
        try check("WRITEFUNCTION", unsafe ccurl_setopt_write(transfer.easy, receiveBody))
        try check("PREREQFUNCTION", unsafe ccurl_setopt_prerequest(transfer.easy, permitRequest))
        try check("OPENSOCKETFUNCTION", unsafe ccurl_setopt_opensocket(transfer.easy, openSocket))
        try check("HEADERDATA", unsafe ccurl_setopt_pointer(transfer.easy, CURLOPT_HEADERDATA, context))
        try check("HEADERFUNCTION", unsafe ccurl_setopt_header(transfer.easy, receiveHeader))
        guard CurlLibrary.sharesOpenSSL else { return }
        try check("SSL_CTX_DATA", unsafe ccurl_setopt_pointer(transfer.easy, CURLOPT_SSL_CTX_DATA, context))
        try check("SSL_CTX_FUNCTION", unsafe ccurl_setopt_tls_context(transfer.easy, countRecords))
    }

    private func set(_ transfer: Transfer, _ option: CURLoption, _ value: Int) throws(TransportError) {
        try unsafe setOption(transfer.easy, option, value)
    }

    private func set(_ transfer: Transfer, _ option: CURLoption, _ value: String) throws(TransportError) {
        try unsafe setOption(transfer.easy, option, value)
    }

    private func milliseconds(_ duration: Duration) -> Int {
        Int(max(duration.nanoseconds / 1_000_000, 1))
    }
}

private func readBody(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer = unsafe transferBehind(context) else { return 0 }
    return unsafe transfer.readBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

/// Refuses to rewind a body, so that libcurl cannot send it a second time.
private func refuseToRewind(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    CURL_SEEKFUNC_FAIL
}

private func receiveBody(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: size * count)
    guard let transfer = unsafe transferBehind(context), unsafe transfer.receive(bytes) else { return 0 }
    return size * count
}

private func receiveHeader(
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe transferBehind(context)?.receiveHeader(size * count) == true ? size * count : 0
}

private func permitRequest(
    _ context: UnsafeMutableRawPointer?,
    _ peer: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?,
    _ peerPort: Int32,
    _ localPort: Int32
) -> Int32 {
    guard let transfer = unsafe transferBehind(context), transfer.mayStart() else { return CURL_PREREQFUNC_ABORT }
    return CURL_PREREQFUNC_OK
}

private func openSocket(
    _ context: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let transfer = unsafe transferBehind(context), let address = unsafe address else { return CURL_SOCKET_BAD }
    guard let connection = transfer.connection, unsafe connection.permitAddress(address) else { return CURL_SOCKET_BAD }
    guard connection.permitSocket() else { return CURL_SOCKET_BAD }
    let type = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let handle = unsafe socket(address.pointee.family, type, address.pointee.protocol)
    guard handle >= 0 else { return CURL_SOCKET_BAD }
    // The kernel detects a peer that vanished, since libcurl 7.88 sends no PING.
    _ = ccurl_set_user_timeout(handle, transfer.context.tcpUserTimeout)
    return handle
}

/// Returns the transfer that belongs to a callback's context.
func transferBehind(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}
