internal import COpenSSL
import Glibc
internal import PushTransport

/// One TLS connection over a socket that does not wait.
@safe
final class TLSChannel {
    /// What a call came to.
    enum Progress: Equatable {
        /// It did something; so many bytes, where it reads or writes.
        case done(Int)
        /// The socket has nothing, or takes nothing.
        case blocked
        /// The connection has ended, for this reason.
        case ended(String)
    }

    /// Whether it cannot go on before the socket takes something.
    private(set) var wantsWrite = false
    private let ssl: OpaquePointer
    private let host: String
    /// Held because OpenSSL points to it.
    private let ticket: TLSTicket
    private let context: TLSContext

    private static let socketMethod = SocketMethod()

    private init(owning ssl: OpaquePointer, _ context: TLSContext, _ ticket: TLSTicket, host: String) {
        unsafe self.ssl = ssl
        self.context = context
        self.ticket = ticket
        self.host = host
    }

    deinit { unsafe SSL_free(ssl) }

    /// Prepares the handshake on a socket.
    ///
    /// - Parameters:
    ///   - context: what it shares with others.
    ///   - ticket: of an earlier connection to the same endpoint, and for those that come.
    ///   - descriptor: a connected socket, which stays the caller's.
    ///   - host: what the certificate must name: a DNS name or an address.
    /// - Returns: a channel that has not begun.
    /// - Throws: ``TransportError`` for want of memory.
    static func open(
        _ context: TLSContext,
        _ ticket: TLSTicket,
        descriptor: Int32,
        host: String
    ) throws(TransportError) -> TLSChannel {
        guard let ssl = unsafe SSL_new(context.pointer) else {
            throw TransportError(reason: .call("SSL_new", problem: drainErrors()))
        }
        let channel = unsafe TLSChannel(owning: ssl, context, ticket, host: host)
        guard unsafe copenssl_use_socket(ssl, socketMethod.pointer, descriptor) == 1, channel.expectHost(),
            unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(ticket).toOpaque()) == 1
        else { throw TransportError(reason: .call("SSL_set_bio", problem: drainErrors())) }
        unsafe SSL_set_connect_state(ssl)
        unsafe ticket.use(for: ssl)
        return channel
    }

    /// The certificate must name the host; names are told to the server, addresses are not (RFC 6066 section 3).
    private func expectHost() -> Bool {
        let parameters = unsafe SSL_get0_param(ssl)
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, host) == 1 { return true }
        ERR_clear_error()
        unsafe SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        return unsafe SSL_set1_host(ssl, host) == 1 && copenssl_set_server_name(ssl, host) == 1
    }

    /// Goes on with the handshake.
    func handshake() -> Progress {
        ERR_clear_error()
        let code = unsafe SSL_do_handshake(ssl)
        guard code == 1 else { return progress(code) }
        wantsWrite = false
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(ssl, &name, &count)
        let chosen = unsafe UnsafeBufferPointer(start: name, count: Int(count))
        guard unsafe chosen.elementsEqual("h2".utf8) else {
            return .ended("the server does not speak HTTP/2 (ALPN did not choose h2)")
        }
        return .done(0)
    }

    /// Reads what has come, as far as it fits.
    ///
    /// - Parameter buffer: where to.
    /// - Returns: how many bytes were read, and what became of it then: `.done` if there may be more at once.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, progress: Progress) {
        ERR_clear_error()
        var filled = 0
        while filled < buffer.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = unsafe SSL_read(ssl, rest.baseAddress, Int32(clamping: rest.count))
            guard count > 0 else { return (filled, progress(count)) }
            filled += Int(count)
            // All that was there is read: to ask the socket again would cost as much as an answer. The poller knows.
            if unsafe SSL_has_pending(ssl) == 0 { return (filled, .blocked) }
        }
        return (filled, .done(filled))
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

    /// Says goodbye, without waiting for the other side's.
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

/// OpenSSL's way to use a socket without SIGPIPE; made once, never freed.
@safe
private final class SocketMethod: @unchecked Sendable {
    // Sendable: never changed.
    let pointer: OpaquePointer?

    init() { unsafe pointer = copenssl_socket_method() }
}
