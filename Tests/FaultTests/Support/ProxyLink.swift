import Foundation
import Threading

/// One connection through a ``FaultProxy``: two sockets, and a thread for each direction.
final class ProxyLink: Sendable {
    private let client: Int32
    private let server: Int32
    private let state = Locked((isClosed: false, pumps: 2))

    init(client: Int32, server: Int32) {
        self.client = client
        self.server = server
    }

    /// Whether the connection was closed or reset.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Starts both directions.
    ///
    /// - Parameters:
    ///   - forward: passes a chunk on by the given function; false ends the direction.
    ///   - ended: called once, after both directions have ended.
    func pump(
        through forward: @escaping @Sendable (ArraySlice<UInt8>, (ArraySlice<UInt8>) -> Bool) -> Bool,
        ended: @escaping @Sendable () -> Void
    ) {
        for (from, to) in [(client, server), (server, client)] {
            // Ends with its sockets, which `close` shuts down.
            _ = WorkerThread.start(name: "proxy link") { [self] in
                copy(from, to, forward)
                finish(to, ended)
            }
        }
    }

    /// Closes both sides in order.
    func close() {
        whileOpen {
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
        }
    }

    /// Resets both sides.
    func reset() {
        whileOpen {
            LoopbackSocket.reset(client)
            LoopbackSocket.reset(server)
        }
    }

    /// Runs a body under the lock, so that the descriptors cannot be reused meanwhile.
    private func whileOpen(_ body: () -> Void) {
        state.withLock { state in
            state.isClosed = true
            if state.pumps > 0 { body() }
        }
    }

    private func copy(_ from: Int32, _ to: Int32, _ forward: (ArraySlice<UInt8>, (ArraySlice<UInt8>) -> Bool) -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(from, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            guard forward(buffer[..<count], { LoopbackSocket.send($0, to: to) }) else { return }
        }
    }

    private func finish(_ to: Int32, _ ended: () -> Void) {
        let isLast = state.withLock { state in
            state.pumps -= 1
            guard state.pumps == 0 else {
                // The other direction may have more to send.
                shutdown(to, Int32(SHUT_WR))
                return false
            }
            Glibc.close(client)
            Glibc.close(server)
            return true
        }
        if isLast { ended() }
    }
}
