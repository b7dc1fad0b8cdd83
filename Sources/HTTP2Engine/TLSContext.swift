internal import COpenSSL
import Glibc
internal import PushTransport
internal import Threading

/// The TLS context that connections with the same authorities and the same client certificate share.
@safe
final class TLSContext: @unchecked Sendable {
    // Sendable: configured before it is shared; OpenSSL counts its references by itself.
    let pointer: OpaquePointer

    /// The identity of a context.
    private struct Key: Hashable {
        let authorities: ObjectIdentifier
        let certificate: ObjectIdentifier
    }

    private struct Entry {
        weak var context: TLSContext?
        /// Retained for as long as the key exists, which identifies the objects by their addresses.
        let authorities: TrustedAuthorities
        let certificate: ClientCertificate
    }

    private static let contexts = Locked<[Key: Entry]>([:])

    private init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe SSL_CTX_free(pointer) }

    /// Returns the context for some options, from a cache or a new one.
    ///
    /// - Parameter options: the CA file and the client certificate.
    /// - Returns: the context.
    /// - Throws: ``TransportError`` if one of them is unusable.
    static func shared(_ options: TransportOptions) throws(TransportError) -> TLSContext {
        let authorities = try TrustedAuthorities.reading(caFile: options.caFile)
        guard let certificate = options.clientCertificate else { return try authorities.context() }
        let key = Key(authorities: ObjectIdentifier(authorities), certificate: ObjectIdentifier(certificate))
        let made = contexts.withLock { contexts -> Result<TLSContext, TransportError> in
            if let context = contexts[key]?.context { return .success(context) }
            contexts = contexts.filter { $0.value.context != nil }
            do throws(TransportError) {
                let context = try open(authorities, certificate)
                contexts[key] = Entry(context: context, authorities: authorities, certificate: certificate)
                return .success(context)
            } catch {
                return .failure(error)
            }
        }
        return try made.get()
    }

    /// Creates a context.
    ///
    /// - Parameters:
    ///   - authorities: the certificates that it trusts.
    ///   - certificate: the client certificate, if any.
    /// - Returns: the context.
    /// - Throws: ``TransportError`` if the certificate is unusable.
    static func open(
        _ authorities: TrustedAuthorities,
        _ certificate: ClientCertificate? = nil
    ) throws(TransportError) -> TLSContext {
        ERR_clear_error()
        guard let pointer = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw TransportError(reason: .call("SSL_CTX_new", problem: drainErrors()))
        }
        let context = unsafe TLSContext(owning: pointer)
        let protocols: [UInt8] = [2, UInt8(ascii: "h"), UInt8(ascii: "2")]
        guard unsafe copenssl_client_defaults(pointer) == 1,
            unsafe SSL_CTX_set_alpn_protos(pointer, protocols, UInt32(protocols.count)) == 0
        else { throw TransportError(reason: .call("SSL_CTX", problem: drainErrors())) }
        unsafe SSL_CTX_sess_set_new_cb(pointer, keepSession)
        unsafe authorities.use(in: pointer)
        if let certificate { try context.use(certificate) }
        return context
    }

    private func use(_ certificate: ClientCertificate) throws(TransportError) {
        func problem() -> TransportError { TransportError(reason: .clientCertificate(problem: drainErrors())) }
        guard let chain = unsafe BIO_new_mem_buf(certificate.chain, Int32(clamping: certificate.chain.count)),
            let secret = unsafe BIO_new_mem_buf(certificate.privateKey, Int32(clamping: certificate.privateKey.count))
        else { throw problem() }
        defer {
            unsafe BIO_free(chain)
            unsafe BIO_free(secret)
        }
        guard let leaf = unsafe PEM_read_bio_X509(chain, nil, nil, nil) else { throw problem() }
        defer { unsafe X509_free(leaf) }
        guard unsafe SSL_CTX_use_certificate(pointer, leaf) == 1 else { throw problem() }
        while let next = unsafe PEM_read_bio_X509(chain, nil, nil, nil) {
            guard unsafe copenssl_add_chain(pointer, next) == 1 else {
                unsafe X509_free(next)
                throw problem()
            }
        }
        // OpenSSL reports the end of the file as an error.
        ERR_clear_error()
        guard let key = unsafe PEM_read_bio_PrivateKey(secret, nil, nil, nil) else { throw problem() }
        defer { unsafe EVP_PKEY_free(key) }
        guard unsafe SSL_CTX_use_PrivateKey(pointer, key) == 1, unsafe SSL_CTX_check_private_key(pointer) == 1 else {
            throw problem()
        }
    }
}

/// Removes all errors from this thread's OpenSSL error queue.
///
/// - Returns: their reasons, in order.
func drainErrors() -> String {
    var reasons: [String] = []
    while case let code = ERR_get_error(), code != 0 {
        let text = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) }
        reasons.append(text ?? "error \(code)")
    }
    return reasons.isEmpty ? "no reason given" : reasons.joined(separator: "; ")
}

/// Keeps the session ticket for the next connection of the same transport.
private func keepSession(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let context = unsafe SSL_get_ex_data(ssl, 0), let session = unsafe session else { return 0 }
    unsafe Unmanaged<TLSTicket>.fromOpaque(context).takeUnretainedValue().keep(session)
    return 1
}

/// The last session ticket of an endpoint, which makes a reconnect faster; used by one thread.
@safe
final class TLSTicket {
    private var session: OpaquePointer?

    deinit { unsafe SSL_SESSION_free(session) }

    /// Takes ownership of a session.
    func keep(_ session: OpaquePointer) {
        unsafe SSL_SESSION_free(self.session)
        unsafe self.session = session
    }

    /// Offers the session to a server, once (RFC 8446 appendix C.4).
    func use(for ssl: OpaquePointer) {
        guard let session = unsafe session else { return }
        unsafe SSL_set_session(ssl, session)
        unsafe SSL_SESSION_free(session)
        unsafe self.session = nil
    }
}
