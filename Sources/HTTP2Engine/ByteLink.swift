internal import COpenSSL
import Glibc
internal import PushTransport

/// The bytes below a TLS connection: those of a socket, or of the TLS connection to a proxy.
@safe
final class ByteLink {
    /// The link in OpenSSL's form.
    let bio: OpaquePointer
    /// The TLS connection to the proxy; retained because OpenSSL points to it.
    let proxyChannel: TLSChannel?

    private static let socketMethod = SocketMethod()

    private init(owning bio: OpaquePointer, through proxyChannel: TLSChannel?) {
        unsafe self.bio = bio
        self.proxyChannel = proxyChannel
    }

    deinit { unsafe BIO_free_all(bio) }

    /// Returns the link over a connected socket, which the caller continues to own.
    ///
    /// - Throws: ``TransportError`` if memory runs out.
    static func over(_ descriptor: Int32) throws(TransportError) -> ByteLink {
        try unsafe owning(copenssl_socket(socketMethod.pointer, descriptor), through: nil)
    }

    /// Returns the link through a TLS connection whose handshake is completed.
    ///
    /// - Throws: ``TransportError`` if memory runs out.
    static func through(_ channel: TLSChannel) throws(TransportError) -> ByteLink {
        try unsafe owning(copenssl_through(channel.ssl), through: channel)
    }

    private static func owning(
        _ bio: OpaquePointer?,
        through channel: TLSChannel?
    ) throws(TransportError) -> ByteLink {
        guard let bio = unsafe bio else { throw TransportError(reason: .call("BIO_new", problem: drainErrors())) }
        return unsafe ByteLink(owning: bio, through: channel)
    }

    /// Whether the last call waits until the socket is writable.
    var wantsWrite: Bool { unsafe BIO_test_flags(bio, BIO_FLAGS_WRITE) != 0 }

    /// Reads the next byte.
    func read(into byte: inout UInt8) -> TLSChannel.Progress { progress(unsafe BIO_read(bio, &byte, 1)) }

    /// Writes bytes, as far as the socket takes them.
    func write(_ bytes: ArraySlice<UInt8>) -> TLSChannel.Progress {
        unsafe bytes.withUnsafeBytes { bytes in
            progress(unsafe BIO_write(bio, bytes.baseAddress, Int32(clamping: bytes.count)))
        }
    }

    private func progress(_ count: Int32) -> TLSChannel.Progress {
        if count > 0 { return .done(Int(count)) }
        if unsafe BIO_test_flags(bio, BIO_FLAGS_SHOULD_RETRY) != 0 { return .blocked }
        ERR_clear_error()
        return .ended("the proxy closed the connection")
    }
}

/// OpenSSL's socket method without SIGPIPE; created once, never freed.
@safe
private final class SocketMethod: @unchecked Sendable {
    // Sendable: never changed.
    let pointer: OpaquePointer?

    init() { unsafe pointer = copenssl_socket_method() }
}
