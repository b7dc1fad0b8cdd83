internal import COpenSSL
internal import PushTransport

/// The request to a proxy for a tunnel to an endpoint (CONNECT, RFC 9110 section 9.3.6), and its answer.
final class Tunnel {
    /// The state of the request.
    enum Progress: Equatable {
        /// Waiting for the socket.
        case blocked
        /// The tunnel is open: all further bytes are the endpoint's.
        case open
        /// There is no tunnel, for this reason.
        case failed(String)
    }

    /// The maximum size of the answer's header in bytes.
    static let headLimit = 16 * 1024

    /// The bytes of the tunnel once it is open.
    let link: ByteLink
    private let proxy: HTTPProxy
    private var request: ArraySlice<UInt8>
    private var head = AnswerHead()

    /// Prepares the request.
    ///
    /// - Parameters:
    ///   - link: the connection to the proxy.
    ///   - endpoint: the end of the tunnel.
    ///   - proxy: the proxy.
    /// - Throws: ``TransportError`` if the proxy's password cannot be read.
    init(_ link: ByteLink, to endpoint: Endpoint, through proxy: HTTPProxy) throws(TransportError) {
        let authority = endpoint.hostAndPort
        var lines = "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n"
        if let credentials = try proxy.credentials() {
            lines += "Proxy-Authorization: Basic \(Self.base64(Array(credentials.utf8)))\r\n"
        }
        request = Array("\(lines)\r\n".utf8)[...]
        self.link = link
        self.proxy = proxy
    }

    /// Whether the request waits until the socket is writable.
    var wantsWrite: Bool { !request.isEmpty || link.wantsWrite }

    /// Advances as far as possible without blocking.
    func advance() -> Progress {
        while !request.isEmpty {
            switch link.write(request) {
            case .done(let count): request = request.dropFirst(count)
            case .blocked: return .blocked
            case .ended(let problem): return .failed(through(problem))
            }
        }
        // Read by single bytes, because what follows the header is the endpoint's.
        var byte: UInt8 = 0
        while true {
            switch link.read(into: &byte) {
            case .blocked: return .blocked
            case .ended(let problem): return .failed(through(problem))
            case .done: if let end = take(byte) { return end }
            }
        }
    }

    private func take(_ byte: UInt8) -> Progress? {
        switch head.take(byte) {
        case .incomplete: return nil
        case .malformed: return .failed(through("the proxy does not answer in HTTP/1.1"))
        case .status(let status): return 200..<300 ~= status ? .open : .failed(proxy.refusal(status))
        }
    }

    private func through(_ problem: String) -> String { "through proxy \(proxy): \(problem)" }

    private static func base64(_ bytes: [UInt8]) -> String {
        // OpenSSL adds a NUL.
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = unsafe EVP_EncodeBlock(&text, bytes, Int32(clamping: bytes.count))
        return String(decoding: text.prefix(Int(count)), as: UTF8.self)
    }
}

/// The header of a proxy's answer, as far as it has arrived.
struct AnswerHead {
    /// The state of the header.
    enum Progress: Equatable {
        /// More bytes are needed.
        case incomplete
        /// It is complete; its status is final.
        case status(Int)
        /// It is no header of HTTP/1, or too long.
        case malformed
    }

    private var bytes: [UInt8] = []
    private var count = 0

    /// Takes the next byte.
    mutating func take(_ byte: UInt8) -> Progress {
        count += 1
        guard count <= Tunnel.headLimit else { return .malformed }
        bytes.append(byte)
        guard byte == UInt8(ascii: "\n"), bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) else { return .incomplete }
        guard let status = Self.status(of: bytes) else { return .malformed }
        guard status < 200 else { return .status(status) }
        // A status of 1xx precedes the final one (RFC 9110 section 15.2).
        bytes = []
        return .incomplete
    }

    /// Reads `HTTP/1.1 200 …`.
    private static func status(of head: [UInt8]) -> Int? {
        let line = head.prefix { $0 != UInt8(ascii: "\r") }
        guard line.starts(with: "HTTP/1.".utf8), line.count >= 12, line[8] == UInt8(ascii: " "),
            line.count == 12 || line[12] == UInt8(ascii: " ")
        else { return nil }
        let digits = line[9..<12].map { Int($0) - Int(UInt8(ascii: "0")) }
        guard digits.allSatisfy({ 0...9 ~= $0 }), digits[0] >= 1 else { return nil }
        return digits.reduce(0) { $0 * 10 + $1 }
    }
}
