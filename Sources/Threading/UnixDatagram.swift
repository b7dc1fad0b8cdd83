import Glibc

/// Sends single datagrams to a Unix socket, without a connection.
public enum UnixDatagram {
    /// Sends one datagram.
    ///
    /// Waits up to 2 s while the receiver's queue is full.
    ///
    /// - Parameters:
    ///   - text: its content, as UTF-8.
    ///   - address: a path, or a name in the abstract namespace after `@` (unix(7)); at most 107 bytes.
    /// - Throws: the system's error.
    public static func send(_ text: String, to address: String) throws(UnixDatagramError) {
        var name = sockaddr_un()
        let length = try fill(&name, with: address)
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw UnixDatagramError(call: "socket", code: errno) }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        let limitSize = socklen_t(MemoryLayout<timeval>.size)
        guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, limitSize) == 0 else {
            throw UnixDatagramError(call: "setsockopt", code: errno)
        }
        let bytes = Array(text.utf8)
        let sent = unsafe withUnsafePointer(to: &name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length)
            }
        }
        guard sent == bytes.count else { throw UnixDatagramError(call: "sendto", code: errno) }
    }

    /// Fills in an address; `@` stands for the NUL byte that starts an abstract name.
    private static func fill(
        _ name: inout sockaddr_un,
        with address: String
    ) throws(UnixDatagramError) -> socklen_t {
        var bytes = Array(address.utf8)
        let room = MemoryLayout.size(ofValue: name.sun_path)
        guard bytes.count > 1, bytes.count < room, !bytes.contains(0),
            bytes[0] == UInt8(ascii: "/") || bytes[0] == UInt8(ascii: "@")
        else { throw UnixDatagramError(call: "sendto", code: EINVAL) }
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        name.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &name.sun_path) { path in unsafe path.copyBytes(from: bytes) }
        return socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    }
}

/// The reason why a datagram was not sent.
public struct UnixDatagramError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The system call that failed.
    public let call: String
    /// Its `errno`.
    public let code: Int32

    /// The call and the system's text for the code.
    public var description: String {
        let text = unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
        return "\(call): \(text)"
    }
}
