internal import COpenSSL
import Glibc
internal import PushTransport

/// One TLS connection over a non-blocking socket, or through a proxy's TLS connection.
@safe
final class TLSChannel {
    /// The result of a call.
    enum Progress: Equatable {
        /// The call succeeded; the number of bytes for a read or a write.
        case done(Int)
        /// The socket has no data, or accepts none.
        case blocked
        /// The connection has ended, for this reason.
        case ended(String)
    }

    /// The protocol inside the connection, as ALPN chooses it.
    enum ApplicationProtocol {
        /// HTTP/2, which the server has to choose.
        case http2
        /// HTTP/1.1; the choice of the server is not checked.
        case http1
    }

    /// Whether the connection waits until the socket is writable.
    private(set) var wantsWrite = false
    let ssl: OpaquePointer
    private let host: String
    private let spoken: ApplicationProtocol
    private let link: ByteLink
    /// Retained because OpenSSL points to it.
    private let ticket: TLSTicket
    private let context: TLSContext

    private init(
        owning ssl: OpaquePointer,
        _ context: TLSContext,
        _ ticket: TLSTicket,
        over link: ByteLink,
        host: String,
        speaks spoken: ApplicationProtocol
    ) {
        unsafe self.ssl = ssl
        self.context = context
        self.ticket = ticket
        self.link = link
        self.host = host
        self.spoken = spoken
    }

    deinit { unsafe SSL_free(ssl) }

    /// Prepares the handshake.
    ///
    /// - Parameters:
    ///   - context: the context shared by connections.
    ///   - ticket: the session ticket of an earlier connection to the endpoint, and the place for new ones.
    ///   - link: the bytes below the connection.
    ///   - host: the DNS name or address that the certificate must contain.
    ///   - spoken: the protocol inside the connection.
    /// - Returns: a channel whose handshake has not started.
    /// - Throws: ``TransportError`` if memory runs out.
    static func open(
        _ context: TLSContext,
        _ ticket: TLSTicket,
        over link: ByteLink,
        host: String,
        speaks spoken: ApplicationProtocol = .http2
    ) throws(TransportError) -> TLSChannel {
        guard let ssl = unsafe SSL_new(context.pointer) else {
            throw TransportError(reason: .call("SSL_new", problem: drainErrors()))
        }
        let channel = unsafe TLSChannel(owning: ssl, context, ticket, over: link, host: host, speaks: spoken)
        // The connection and the link own one reference each.
        guard unsafe BIO_up_ref(link.bio) == 1 else {
            throw TransportError(reason: .call("BIO_up_ref", problem: drainErrors()))
        }
        unsafe SSL_set_bio(ssl, link.bio, link.bio)
        // The context offers HTTP/2.
        if spoken == .http1 { unsafe SSL_set_alpn_protos(ssl, nil, 0) }
        guard channel.expectHost(),
            unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(ticket).toOpaque()) == 1
        else { throw TransportError(reason: .call("SSL_set1_host", problem: drainErrors())) }
        unsafe SSL_set_connect_state(ssl)
        unsafe ticket.use(for: ssl)
        return channel
    }

    /// Requires the certificate to contain the host; a name is sent as SNI, an address is not (RFC 6066 section 3).
    private func expectHost() -> Bool {
        let parameters = unsafe SSL_get0_param(ssl)
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return true }
        ERR_clear_error()
        unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        return unsafe SSL_set1_host(ssl, host) == 1 && copenssl_set_server_name(ssl, host) == 1
    }

    /// Advances the handshake.
    func handshake() -> Progress {
        ERR_clear_error()
        let code = unsafe SSL_do_handshake(ssl)
        guard code == 1 else { return progress(code) }
        wantsWrite = false
        guard spoken == .http2 else { return .done(0) }
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        let chosen = unsafe UnsafeBufferPointer(start: name, count: Int(count))
        guard unsafe chosen.elementsEqual("h2".utf8) else {
            return .ended("the server does not speak HTTP/2 (ALPN did not choose h2)")
        }
        return .done(0)
    }

    /// Reads the available bytes, as far as they fit.
    ///
    /// - Parameter buffer: the buffer to read into.
    /// - Returns: the number of bytes, and the state afterwards: `.done` if more may be available at once.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, progress: Progress) {
        ERR_clear_error()
        var filled = 0
        while filled < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = unsafe SSL_read(ssl, rest.baseAddress, Int32(clamping: rest.count))
            guard count > 0 else { return (filled, progress(count)) }
            filled += Int(count)
            // OpenSSL has no more data. Another read of the socket would cost as much as an answer, so the poller
            // decides.
            if !hasPending { return (filled, .blocked) }
        }
        return (filled, .done(filled))
    }

    /// Whether bytes were received that no call has read yet; the poller does not know of them.
    private var hasPending: Bool {
        unsafe SSL_has_pending(ssl) != 0 || link.proxyChannel?.hasPending == true
    }

    /// Writes all of the bytes as one record, or none of them.
    func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
        ERR_clear_error()
        let count = unsafe SSL_write(ssl, bytes.baseAddress, Int32(clamping: bytes.count))
        guard count <= 0 else {
            wantsWrite = false
            return .done(Int(count))
        }
        return progress(count)
    }

    /// Sends the TLS close notification without waiting for the peer's.
    func shutdown() {
        ERR_clear_error()
        _ = unsafe SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func progress(_ code: Int32) -> Progress {
        switch unsafe SSL_get_error(ssl, code) {
        case SSL_ERROR_WANT_READ:
            return .blocked
        case SSL_ERROR_WANT_WRITE:
            wantsWrite = true
            return .blocked
        case SSL_ERROR_ZERO_RETURN:
            return .ended("the server closed the connection")
        case SSL_ERROR_SYSCALL:
            let problem = errno == 0 ? "the server closed the connection" : unsafe String(cString: strerror(errno))
            ERR_clear_error()
            return .ended(problem)
        default:
            return .ended(failure())
        }
    }

    private func failure() -> String {
        let reasons = drainErrors()
        let verdict = unsafe SSL_get_verify_result(ssl)
        guard verdict != Int(X509_V_OK) else { return "TLS: \(reasons)" }
        let problem = unsafe String(cString: X509_verify_cert_error_string(verdict))
        return "TLS: the certificate of \(host) was refused: \(problem)"
    }
}
