import FanfareCore
import Foundation
import Glibc
import TestKit

/// A server's response.
struct Reply: Sendable {
    let status: Int
    /// The headers by lower-case name.
    let headers: [String: String]
    let body: String

    /// The body as JSON.
    var json: JSONValue {
        get throws { try JSONValue(parsing: body) }
    }
}

/// A connection that a test controls byte by byte.
final class Wire: Sendable {
    struct Ended: Error {}
    struct WireError: Error { let reason: String }

    private let socket: Int32

    /// Connects to a port of this host.
    ///
    /// - Parameters:
    ///   - port: the port.
    ///   - room: the approximate size of the receive buffer in bytes; nil for the system's default.
    init(port: Int, room: Int32? = nil) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var room { setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size)) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = socket
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
        }
        guard result == 0 else { throw WireError(reason: "cannot connect to \(port): errno \(errno)") }
    }

    /// Connects to a Unix socket.
    init(path: String) throws {
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let size = socklen_t(MemoryLayout<sockaddr_un>.size)
        let socket = socket
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
        }
        guard result == 0 else { throw WireError(reason: "cannot connect to \(path): errno \(errno)") }
    }

    deinit { close(socket) }

    /// Sends a text; a closed connection is noticed when reading.
    func send(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    /// Waits for a response; one without a length ends with the connection.
    func reply() throws -> Reply {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) { head += try read(1) }
        var lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n").filter { !$0.isEmpty }
        let status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
        var headers: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
        }
        let body = try headers["content-length"].flatMap { Int($0) }.map { try read($0) } ?? []
        return Reply(status: status, headers: headers, body: String(decoding: body, as: UTF8.self))
    }

    /// Reads until a text has arrived.
    ///
    /// - Returns: everything received, including the text.
    func read(until text: String) throws -> String {
        var bytes: [UInt8] = []
        let wanted = Array(text.utf8)
        while !bytes.suffix(wanted.count).elementsEqual(wanted) { bytes += try read(1) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads until a text has arrived the given number of times, and perhaps a little more.
    ///
    /// - Returns: everything received, with invalid UTF-8 replaced.
    func read(_ count: Int, of text: String) throws -> String {
        var (bytes, seen): ([UInt8], Int) = ([], 0)
        var piece = [UInt8](repeating: 0, count: 65_536)
        let wanted = Array(text.utf8)
        while seen < count {
            let got = recv(socket, &piece, piece.count, 0)
            guard got > 0 else { throw Ended() }
            // From a little before the end, because a match may have arrived in part.
            let from = max(0, bytes.count - wanted.count + 1)
            bytes += piece[..<got]
            var index = from
            while index + wanted.count <= bytes.count {
                if bytes[index] == wanted[0], bytes[index..<index + wanted.count].elementsEqual(wanted) { seen += 1 }
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends a text until a response arrives, and reads until the connection ends.
    ///
    /// - Returns: everything received, with invalid UTF-8 replaced.
    func readAll(sending text: String) -> String {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            var state = pollfd(fd: socket, events: Int16(POLLIN | POLLOUT), revents: 0)
            guard poll(&state, 1, -1) == 1, state.revents & Int16(POLLOUT) != 0, state.revents & Int16(POLLIN) == 0
            else { break }
            let sent = rest.prefix(65_536).withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            guard sent > 0 else { break }
            rest = rest.dropFirst(sent)
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let got = recv(socket, &piece, piece.count, 0), got > 0 { bytes += piece[..<got] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns whether the peer has closed the connection without a response.
    ///
    /// - Parameter milliseconds: the time to wait.
    func hasEnded(within milliseconds: Int32) -> Bool {
        var state = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, milliseconds) == 1 else { return false }
        var byte: UInt8 = 0
        return recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) <= 0
    }

    /// Waits until the peer closes the connection.
    func awaitEnd() {
        while (try? read(1)) != nil {}
    }

    private func read(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var piece = [UInt8](repeating: 0, count: count - bytes.count)
            let got = recv(socket, &piece, piece.count, 0)
            guard got > 0 else { throw Ended() }
            bytes += piece[..<got]
        }
        return bytes
    }
}
