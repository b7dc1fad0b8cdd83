import Foundation
import Glibc

/// One request to chromedriver on a connection of its own; it blocks.
///
/// URLSession rejects headers without a space after the colon, which chromedriver sends.
struct DriverRequest: Sendable {
    /// The port on loopback.
    let port: Int
    /// `GET`, `POST` or `DELETE`.
    let method: String
    /// The path from the root.
    let path: String
    /// The JSON body; nil for none.
    let body: Data?

    /// The driver limits pages and scripts to two minutes; starting a browser on a busy machine may take longer.
    private static let patience = timeval(tv_sec: 180, tv_usec: 0)

    /// Sends the request.
    ///
    /// - Returns: the response's status and body.
    /// - Throws: `BrowserError` if there is no response.
    func answer() throws -> (status: Int, body: Data) {
        let handle = try connect()
        defer { close(handle) }
        try send(on: handle)
        var received = Data()
        let end = Data("\r\n\r\n".utf8)
        while true {
            guard let range = received.range(of: end) else {
                received += try read(from: handle)
                continue
            }
            let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
            guard let status = head.split(separator: " ").dropFirst().first.flatMap({ Int($0) }),
                let length = head.lowercased().firstMatch(of: /\r\ncontent-length: *(\d+)/).flatMap({ Int($0.1) })
            else { throw failure("its answer began \(head.prefix(80))") }
            var content = Data(received[range.upperBound...])
            while content.count < length { content += try read(from: handle) }
            return (status, content)
        }
    }

    private func connect() throws -> Int32 {
        let handle = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var patience = Self.patience
        setsockopt(handle, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(handle, $0, size) }
        }
        guard result == 0 else {
            defer { close(handle) }
            throw failure("it cannot be reached: errno \(errno)")
        }
        return handle
    }

    private func send(on handle: Int32) throws {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        if let body { head += "Content-Type: application/json; charset=utf-8\r\nContent-Length: \(body.count)\r\n" }
        var rest = [UInt8](Data((head + "\r\n").utf8) + (body ?? Data()))[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(handle, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { throw failure("it took no request: errno \(errno)") }
            rest = rest.dropFirst(sent)
        }
    }

    private func read(from handle: Int32) throws -> Data {
        var piece = [UInt8](repeating: 0, count: 65_536)
        var count = 0
        repeat { count = recv(handle, &piece, piece.count, 0) } while count < 0 && errno == EINTR
        guard count > 0 else { throw failure("no answer came: " + (count == 0 ? "it hung up" : "errno \(errno)")) }
        return Data(piece[..<count])
    }

    private func failure(_ reason: String) -> BrowserError {
        BrowserError(code: BrowserError.noAnswer, message: "chromedriver, \(method) \(path): \(reason)")
    }
}
