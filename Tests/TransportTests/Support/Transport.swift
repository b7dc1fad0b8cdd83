import HTTP2Client
import HTTP2Engine
import PushTransport

/// The transports that have to pass the same tests, and how they differ.
enum Transport: String, CaseIterable, Sendable {
    /// libcurl.
    case curl
    /// nghttp2 over OpenSSL.
    case engine

    /// Makes one to an endpoint.
    func open(_ endpoint: Endpoint, _ options: TransportOptions = TransportOptions()) throws -> any PushTransport {
        switch self {
        case .curl: try HTTP2Client(endpoint: endpoint, options: options)
        case .engine: try HTTP2Engine(endpoint: endpoint, options: options)
        }
    }

    /// Whether REFUSED_STREAM and GOAWAY's last stream become ``Fate/notProcessed``.
    var seesWhatWasNotProcessed: Bool { self == .engine }

    /// What becomes of a request that crosses a GOAWAY on its way.
    ///
    /// libcurl even tries the old connection once more when it has read it, which it does not tell from a loss.
    var fateOverGoaway: Fate { self == .engine ? .notProcessed : .ambiguous }

    /// Whether a client certificate whose key does not fit is refused when the transport is made, and not when it connects.
    var checksClientCertificateFirst: Bool { self == .engine }

    /// What a scripted server says to be understood: one answer, 200.
    var accepted: [UInt8] {
        switch self {
        case .curl: Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        // Empty SETTINGS, and HEADERS on stream 1 with END_STREAM and END_HEADERS: `:status: 200` from the static table.
        case .engine: [0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]
        }
    }

    /// What such a server says that begins an answer and does not end it: a status, and half of a body.
    func unfinished(_ status: UInt16) -> [UInt8] {
        switch self {
        case .curl: return Array("HTTP/1.1 \(status) Half\r\nContent-Length: 8\r\n\r\nhalf".utf8)
        case .engine:
            // Empty SETTINGS, HEADERS on stream 1 with END_HEADERS, and DATA: statuses from the static table.
            let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
            let headers: [UInt8] = [0, 0, 1, 1, 4, 0, 0, 0, 1, status == 200 ? 0x88 : 0x8E]
            let data: [UInt8] = [0, 0, 4, 0, 0, 0, 0, 0, 1] + Array("half".utf8)
            return settings + headers + data
        }
    }

    /// The protocol that such a server chooses by ALPN.
    var scriptedProtocol: String { self == .curl ? "http/1.1" : "h2" }
}
