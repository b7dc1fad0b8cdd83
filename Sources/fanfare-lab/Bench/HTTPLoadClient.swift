import Foundation
import Glibc

/// A connection to the daemon's HTTP API on loopback that sends one request after the other, with just enough HTTP for
/// that.
final class HTTPLoadClient: Sendable {
    private let socket: FileHandle

    /// Connects to the API.
    ///
    /// - Parameter port: the port on 127.0.0.1.
    /// - Throws: if the connection is refused.
    init(port: Int) throws {
        socket = try LoopbackPort.connect(port)
    }

    /// Returns the bytes of a request.
    static func request(_ method: String, _ path: String, body: String?, token: String, port: Int) -> Data {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(token)\r\n"
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        return Data("\(head)\r\n\(body ?? "")".utf8)
    }

    /// Sends a request, and reads the whole response.
    ///
    /// - Parameters:
    ///   - request: the result of ``request(_:_:body:token:port:)``.
    ///   - status: the expected status.
    /// - Returns: true.
    /// - Throws: for another status.
    func ask(_ request: Data, expecting status: Int) throws -> Bool {
        var (head, rest) = try begin(request, expecting: status)
        guard let length = head.firstMatch(of: /(?i)\r\ncontent-length: *(\d+)/).flatMap({ Int($0.1) }) else {
            throw BenchError("an answer has no Content-Length")
        }
        while rest < length { rest += try read().count }
        return true
    }

    /// Sends a request, and reads the head of the response.
    ///
    /// - Parameters:
    ///   - request: the result of ``request(_:_:body:token:port:)``.
    ///   - status: the expected status.
    /// - Returns: the head, and the number of bytes of the body received with it.
    /// - Throws: for another status.
    @discardableResult
    func begin(_ request: Data, expecting status: Int) throws -> (head: String, bodyBytes: Int) {
        try socket.write(contentsOf: request)
        var answer = Data()
        while true {
            answer += try read()
            guard let end = answer.firstRange(of: Data("\r\n\r\n".utf8)) else { continue }
            let head = String(decoding: answer[..<end.lowerBound], as: UTF8.self)
            guard head.hasPrefix("HTTP/1.1 \(status) ") else {
                throw BenchError("answered with \(head.prefix { $0 != "\r" }) instead of \(status)")
            }
            return (head, answer.count - end.upperBound)
        }
    }

    private func read() throws -> Data {
        // Returns what is available instead of waiting for a count.
        let data = socket.availableData
        guard !data.isEmpty else { throw BenchError("the daemon closed the connection") }
        return data
    }
}

/// Ports of 127.0.0.1.
enum LoopbackPort {
    /// Returns a free port, which another process may take a moment later.
    static func free() throws -> Int {
        try withSocket { descriptor in
            try unsafe check(call(bind, descriptor, port: 0), "bind")
            var (address, length) = (sockaddr_in(), socklen_t(MemoryLayout<sockaddr_in>.size))
            let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe getsockname(descriptor, $0, &length)
                }
            }
            try check(result, "getsockname")
            close(descriptor)
            return Int(UInt16(bigEndian: address.sin_port))
        }
    }

    /// Connects to a port.
    static func connect(_ port: Int) throws -> FileHandle {
        try withSocket { descriptor in
            try unsafe check(call(Glibc.connect, descriptor, port: port), "connect")
            return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }
    }

    private static func withSocket<Value>(_ body: (Int32) throws -> Value) throws -> Value {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try check(descriptor, "socket")
        do {
            return try body(descriptor)
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func call(
        _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32,
        _ descriptor: Int32,
        port: Int
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7F00_0001).bigEndian)
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func check(_ result: Int32, _ what: String) throws {
        guard result >= 0 else { throw BenchError("\(what): errno \(errno)") }
    }
}
