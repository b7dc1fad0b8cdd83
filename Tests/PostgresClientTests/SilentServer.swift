import Foundation
import Testing
import Threading

/// A port that accepts connections into its backlog and never answers; if the backlog is full, it does not accept them
/// either.
final class SilentServer {
    let port: UInt16
    private let socket: Int32
    private let filler: Int32

    init(isFull: Bool = false) throws {
        let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        socket = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, isFull ? 0 : 8) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        port = UInt16(bigEndian: address.sin_port)
        let filling = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        filler = filling
        let filled = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                // A backlog of 0 has room for one connection.
                !isFull || Foundation.connect(filling, address, length) == 0
            }
        }
        try #require(bound && filled)
    }

    /// Accepts one client and asks for its password (AuthenticationCleartextPassword).
    func askForAPassword() -> WorkerThread {
        let listener = socket
        return WorkerThread.start(name: "server") {
            let client = accept(listener, nil, nil)
            var received = [UInt8](repeating: 0, count: 1024)
            _ = recv(client, &received, received.count, 0)
            let question: [UInt8] = [UInt8(ascii: "R"), 0, 0, 0, 8, 0, 0, 0, 3]
            _ = send(client, question, question.count, Int32(MSG_NOSIGNAL))
            // Blocks until the client has disconnected.
            _ = recv(client, &received, received.count, 0)
            close(client)
        }
    }

    deinit {
        close(filler)
        close(socket)
    }
}
