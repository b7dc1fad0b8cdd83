import FanfareTools
import Glibc

/// A bound datagram socket like systemd's notification socket.
final class NotifySocket: Sendable {
    let descriptor: Int32

    init(_ address: String) {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let status = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        precondition(status == 0, "bind failed: \(errno)")
    }

    deinit { close(descriptor) }

    /// Returns the next datagram.
    ///
    /// - Parameter seconds: how long to wait for it; 0 for one that was sent before.
    /// - Returns: its text; empty if none arrived.
    func receive(seconds: Int = 0) -> String {
        var patience = timeval(tv_sec: max(seconds, 1), tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var buffer = [UInt8](repeating: 0, count: 512)
        let count = recv(descriptor, &buffer, buffer.count, seconds == 0 ? Int32(MSG_DONTWAIT) : 0)
        return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    }
}
