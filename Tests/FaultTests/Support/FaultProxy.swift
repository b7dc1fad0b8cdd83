import Foundation
import Threading

/// A TCP proxy on loopback that simulates a faulty network.
///
/// It runs in user space: the kernel acknowledges what a black hole swallows, as for a peer whose program hangs, so
/// only application-level timeouts and pings notice it.
final class FaultProxy: Sendable {
    /// The effect on bytes in both directions.
    enum Behaviour: Sendable, Equatable {
        case pass
        /// Delays every chunk by a number of milliseconds.
        case delay(milliseconds: Int)
        /// Writes every chunk in parts of a number of bytes.
        case slice(bytes: Int)
        /// Passes one byte a second.
        case trickle
        /// Passes nothing and closes nothing; held bytes are passed when this ends.
        case blackHole
        /// Resets new connections; open ones pass.
        case refuse
    }

    private struct State {
        var behaviour = Behaviour.pass
        var isClosed = false
        var links: [Int: ProxyLink] = [:]
        var accepted = 0
        var target: Int
    }

    /// The port on 127.0.0.1.
    let port: Int
    private let listener: Int32
    private let state = NSCondition()
    nonisolated(unsafe) private var guarded: State  // Under `state`'s lock.
    private let thread = Locked<WorkerThread?>(nil)

    /// Creates a proxy to another port on loopback.
    init(to target: Int) throws {
        guarded = State(target: target)
        (listener, port) = try LoopbackSocket.listen()
        let worker = WorkerThread.start(name: "proxy") { [self] in accept() }
        thread.withLock { $0 = worker }
    }

    /// The effect on bytes from now on.
    var behaviour: Behaviour {
        get { locked { $0.behaviour } }
        set {
            locked { $0.behaviour = newValue }
            state.broadcast()
        }
    }

    /// Forwards new connections to another port, and resets open ones.
    func redirect(to target: Int) {
        locked { $0.target = target }
        reset()
    }

    /// The number of connections so far.
    var accepted: Int { locked { $0.accepted } }

    /// Blocks until there have been more than `count` connections, or a timeout.
    func awaitConnection(after count: Int, seconds: Double) {
        let end = Date(timeIntervalSinceNow: seconds)
        state.lock()
        defer { state.unlock() }
        while guarded.accepted <= count, state.wait(until: end) {}
    }

    /// Closes all connections as their peers would.
    func cut() {
        for link in locked({ Array($0.links.values) }) { link.close() }
        state.broadcast()
    }

    /// Resets all connections.
    func reset() {
        for link in locked({ Array($0.links.values) }) { link.reset() }
        state.broadcast()
    }

    /// Stops the proxy, and closes all connections.
    func stop() {
        locked { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
        cut()
        thread.withLock { $0 }?.join()
        close(listener)
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard !locked({ $0.isClosed }) else {
                if client >= 0 { close(client) }
                return
            }
            guard client >= 0 else { continue }
            guard behaviour != .refuse, let server = try? LoopbackSocket.connect(port: locked { $0.target }) else {
                LoopbackSocket.reset(client)
                close(client)
                continue
            }
            let number = locked { state in
                state.accepted += 1
                return state.accepted
            }
            state.broadcast()
            let link = ProxyLink(client: client, server: server)
            locked { $0.links[number] = link }
            link.pump(through: { [self] bytes, send in forward(bytes, on: link, send) }) { [self] in
                locked { $0.links[number] = nil }
            }
        }
    }

    /// Passes a chunk on according to the behaviour; false if the connection cannot be used any more.
    private func forward(_ bytes: ArraySlice<UInt8>, on link: ProxyLink, _ send: (ArraySlice<UInt8>) -> Bool) -> Bool {
        var rest = bytes
        var hasWaited = false
        while !rest.isEmpty {
            guard !link.isClosed, !locked({ $0.isClosed }) else { return false }
            let part: Int
            switch behaviour {
            case .pass, .refuse: part = rest.count
            case .slice(let bytes): part = min(bytes, rest.count)
            case .delay(let milliseconds):
                if !hasWaited { wait(milliseconds: milliseconds, on: link) }
                hasWaited = true
                part = rest.count
            case .trickle:
                wait(milliseconds: 1000, on: link)
                part = 1
            case .blackHole:
                wait(milliseconds: 60_000, on: link)
                continue
            }
            guard send(rest.prefix(part)) else { return false }
            rest = rest.dropFirst(part)
        }
        return true
    }

    /// Waits for a time, or until the behaviour changes or the connection is closed.
    private func wait(milliseconds: Int, on link: ProxyLink) {
        let end = Date(timeIntervalSinceNow: Double(milliseconds) / 1000)
        state.lock()
        defer { state.unlock() }
        let before = guarded.behaviour
        while guarded.behaviour == before, !guarded.isClosed, !link.isClosed {
            guard state.wait(until: end) else { return }
        }
    }

    private func locked<Value>(_ body: (inout State) -> Value) -> Value {
        state.lock()
        defer { state.unlock() }
        return body(&guarded)
    }
}
