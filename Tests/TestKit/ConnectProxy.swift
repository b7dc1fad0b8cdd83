import Glibc
import Threading

/// A proxy that supports only CONNECT: one thread that copies bytes between loopback sockets.
public final class ConnectProxy: Sendable {
    private let listener: Int32
    private let waker: (read: Int32, write: Int32)
    private let status: Int
    private let authorization: String?
    private let seen = Locked<[String]>([])
    private let thread = Locked<WorkerThread?>(nil)

    /// The request of each client for its tunnel, with LF line ends.
    public var heads: [String] { seen.withLock { $0 } }

    /// The proxy's address for the configuration.
    public var address: String { "http://localhost:\(port)" }

    /// The port on 127.0.0.1 that the proxy listens on.
    public let port: UInt16

    /// Starts a proxy.
    ///
    /// - Parameters:
    ///   - status: the answer to CONNECT; 0 to close the connection instead. Only 200 opens a tunnel.
    ///   - authorization: the `Proxy-Authorization` without which the answer is 407; nil if none is required.
    /// - Throws: an error if no port is available.
    public init(answering status: Int = 200, requiring authorization: String? = nil) throws {
        self.status = status
        self.authorization = authorization
        let handle = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = Self.loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(handle, address, size) == 0 && listen(handle, 16) == 0 && getsockname(handle, address, &size) == 0
            }
        }
        var ends: [Int32] = [-1, -1]
        guard bound, pipe(&ends) == 0 else { throw ProgramError(message: "the proxy cannot listen") }
        listener = handle
        waker = (ends[0], ends[1])
        port = UInt16(bigEndian: address.sin_port)
        let worker = WorkerThread.start(name: "proxy") { self.run() }
        thread.withLock { $0 = worker }
    }

    /// Closes all tunnels, stops the proxy, and waits until it has ended.
    public func stop() async {
        close(waker.write)
        await thread.withLock { $0 }?.value()
    }

    private func run() {
        var tunnels = Tunnels()
        defer {
            tunnels.closeAll()
            for handle in [listener, waker.read] { close(handle) }
        }
        while true {
            var watched = ([listener, waker.read] + tunnels.handles).map {
                pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
            }
            guard poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
            for ready in watched.dropFirst(2) where ready.revents != 0 {
                guard let head = tunnels.move(from: ready.fd) else { continue }
                answer(head, from: ready.fd, &tunnels)
            }
            if watched[0].revents != 0 { tunnels.heads[accept(listener, nil, nil)] = [] }
            if watched[1].revents != 0 { return }
        }
    }

    /// Opens a tunnel to the requested host, or refuses.
    private func answer(_ head: [UInt8], from client: Int32, _ tunnels: inout Tunnels) {
        let text = String(decoding: head, as: UTF8.self).replacing("\r\n", with: "\n")
        seen.withLock { $0.append(text) }
        let authority = text.split(separator: " ").dropFirst().first ?? ""
        if let authorization, !text.contains("\nProxy-Authorization: \(authorization)\n") {
            send("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n", to: client)
            return tunnels.close(client)
        }
        guard status == 200, let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            if status > 0 { send("HTTP/1.1 \(status) No\r\nX-Proxy: marked\r\nContent-Length: 0\r\n\r\n", to: client) }
            return tunnels.close(client)
        }
        guard let server = Self.connect(port) else {
            send("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", to: client)
            return tunnels.close(client)
        }
        send("HTTP/1.1 200 OK\r\nRetry-After: 77\r\n\r\n", to: client)
        tunnels.join(client, server)
    }

    private func send(_ text: String, to client: Int32) {
        let bytes = Array(text.utf8)
        _ = write(client, bytes, bytes.count)
    }

    /// Connects to this machine, at the address that accepts.
    private static func connect(_ port: UInt16) -> Int32? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo("localhost", "\(port)", &hints, &list) == 0 else { return nil }
        defer { freeaddrinfo(list) }
        var next = list
        while let address = next?.pointee {
            let handle = socket(address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
            if Glibc.connect(handle, address.ai_addr, address.ai_addrlen) == 0 { return handle }
            close(handle)
            next = address.ai_next
        }
        return nil
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        return address
    }
}

/// The sockets of a proxy.
private struct Tunnels {
    /// The bytes received from clients without a tunnel.
    var heads: [Int32: [UInt8]] = [:]
    /// Both directions of each tunnel.
    private var peers: [Int32: Int32] = [:]

    var handles: [Int32] { Array(heads.keys) + Array(peers.keys) }

    mutating func join(_ client: Int32, _ server: Int32) {
        heads[client] = nil
        peers[client] = server
        peers[server] = client
    }

    /// Forwards the bytes of a socket.
    ///
    /// - Returns: a client's request once it is complete.
    mutating func move(from handle: Int32) -> [UInt8]? {
        guard heads[handle] != nil || peers[handle] != nil else { return nil }
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = read(handle, &bytes, bytes.count)
        guard count > 0 else {
            close(handle)
            return nil
        }
        if let peer = peers[handle] {
            var rest = bytes[..<count]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(peer, $0.baseAddress, $0.count) }
                guard written > 0 else {
                    close(handle)
                    return nil
                }
                rest = rest.dropFirst(written)
            }
            return nil
        }
        let head = (heads[handle] ?? []) + bytes[..<count]
        heads[handle] = head
        return head.suffix(4).elementsEqual("\r\n\r\n".utf8) ? head : nil
    }

    mutating func close(_ handle: Int32) {
        if let peer = peers.removeValue(forKey: handle) {
            peers[peer] = nil
            Glibc.close(peer)
        }
        heads[handle] = nil
        Glibc.close(handle)
    }

    mutating func closeAll() {
        for handle in heads.keys { Glibc.close(handle) }
        for handle in peers.keys { Glibc.close(handle) }
        (heads, peers) = ([:], [:])
    }
}

/// Runs a test against a new proxy.
///
/// - Parameters:
///   - status: the answer to CONNECT; 0 to close the connection instead.
///   - authorization: the `Proxy-Authorization` that it requires.
///   - body: the test.
/// - Throws: the error of `body`.
public func withProxy(
    answering status: Int = 200,
    requiring authorization: String? = nil,
    _ body: (ConnectProxy) async throws -> Void
) async throws {
    let proxy = try ConnectProxy(answering: status, requiring: authorization)
    do {
        try await body(proxy)
    } catch {
        await proxy.stop()
        throw error
    }
    await proxy.stop()
}
