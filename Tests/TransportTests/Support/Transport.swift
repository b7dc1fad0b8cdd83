import HTTP2Client
import HTTP2Engine
import PushTransport

/// The transports that have to pass the same tests, and their differences.
enum Transport: String, CaseIterable, Sendable {
    /// libcurl, with one of the many origins that it may have.
    case curl
    /// nghttp2 over OpenSSL.
    case engine

    /// Creates a transport for an endpoint.
    func open(_ endpoint: Endpoint, _ options: TransportOptions = TransportOptions()) throws -> any PushTransport {
        switch self {
        case .curl: try OneOrigin(endpoint, options)
        case .engine: try HTTP2Engine(endpoint: endpoint, options: options)
        }
    }

    /// Whether REFUSED_STREAM and GOAWAY's last stream are reported as ``Fate/notProcessed``.
    var seesWhatWasNotProcessed: Bool { self == .engine }

    /// Whether the free slots follow the peer's limit; with many origins, requests above it wait inside libcurl.
    var followsTheLimit: Bool { self == .engine }

    /// The fate of a request that was sent before a GOAWAY arrived.
    ///
    /// libcurl even tries the old connection once more after it has read the GOAWAY, and does not distinguish it from a
    /// loss.
    var fateOverGoaway: Fate { self == .engine ? .notProcessed : .ambiguous }

    /// Whether a client certificate with the wrong key is rejected when the transport is created, and not when it
    /// connects.
    var checksClientCertificateFirst: Bool { self == .engine }

    /// The bytes of a scripted server for one answer with status 200.
    var accepted: [UInt8] {
        switch self {
        case .curl: Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        // Empty SETTINGS, and HEADERS on stream 1 with END_STREAM and END_HEADERS: `:status: 200` from the static table.
        case .engine: [0, 0, 0, 4, 0, 0, 0, 0, 0] + [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]
        }
    }

    /// Returns the bytes of a scripted server for an answer that does not end: a status, and half of a body.
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

    /// The protocol that a scripted server selects by ALPN.
    var scriptedProtocol: String { self == .curl ? "http/1.1" : "h2" }
}

/// A ``MultiOriginClient`` that sends all requests to one origin.
private final class OneOrigin: PushTransport {
    private let origin: Endpoint
    private let client: MultiOriginClient

    init(_ origin: Endpoint, _ options: TransportOptions) throws {
        self.origin = origin
        let destinations = try DestinationPolicy(hosts: ["*"], networks: ["127.0.0.1", "::1"])
        var all = MultiOriginOptions(destinations: destinations)
        all.transport = options
        client = try MultiOriginClient(options: all)
    }

    var freeSlots: Int { client.freeSlots(for: origin) }
    var inFlight: Int { client.inFlight }
    var isGrowing: Bool { client.isGrowing }
    var state: TransportState { client.state(of: origin) }
    var waker: any TransportWaker { client.waker }
    var sendUntil: ContinuousClock.Instant {
        get { client.sendUntil }
        set { client.sendUntil = newValue }
    }

    func submit(_ requests: ArraySlice<PushRequest>) -> Int {
        client.submit(requests.map { $0.to(origin) }[...])
    }

    func poll(timeout: Duration, into answers: inout [PushAnswer]) { client.poll(timeout: timeout, into: &answers) }
    func retire(_ connection: UInt64) { client.retire(connection) }
    func close(into answers: inout [PushAnswer]) { client.close(into: &answers) }
}

extension PushRequest {
    fileprivate func to(_ origin: Endpoint) -> PushRequest {
        do throws(HeaderError) {
            return try PushRequest(
                tag: tag,
                path: path,
                head: head,
                varyingValue: varyingValue,
                body: body,
                insertion: insertion,
                deadline: deadline,
                origin: origin
            )
        } catch {
            preconditionFailure("a valid request became invalid: \(error)")
        }
    }
}
