import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Threading

@testable import PushSandbox

/// A client certificate for the TLS handshake.
struct ClientCertificate {
    let chain: [NIOSSLCertificate]
    let key: NIOSSLPrivateKey

    init(_ identity: CertificateAuthority.Identity) throws {
        chain = [try NIOSSLCertificate(bytes: Array(identity.certificate.utf8), format: .pem)]
        key = try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem)
    }

    /// Reads a PEM file with certificate and key.
    init(pemFile: String) throws {
        chain = try NIOSSLCertificate.fromPEMFile(pemFile)
        key = try NIOSSLPrivateKey(file: pemFile, format: .pem)
    }
}

/// A client at the level of HTTP/2 frames, which records everything the server sends.
final class PushClient: Sendable {
    struct Response: Sendable {
        var headers = HPACKHeaders()
        var body = ""
        var isComplete = false
        var reset: HTTP2ErrorCode?

        var status: Int? { headers.first(name: ":status").flatMap { Int($0) } }
        /// The reason in APNs' error body; empty without one.
        var reason: String {
            body.split(separator: "\"").dropFirst(3).first.map(String.init) ?? ""
        }

        func header(_ name: String) -> String? { headers.first(name: name) }

        /// The body as JSON.
        var json: JSONObject { JSONParser.parse(body.utf8)?.members ?? JSONObject() }
        /// The number of frames of the body.
        var dataFrames = 0
    }

    struct GoAway: Sendable, Equatable {
        let lastStream: Int
        let debug: String
    }

    /// Everything received so far.
    struct Seen: Sendable {
        var responses: [Int: Response] = [:]
        /// The values of SETTINGS_MAX_CONCURRENT_STREAMS in order.
        var streamLimits: [Int] = []
        /// The values of SETTINGS_INITIAL_WINDOW_SIZE in order.
        var windows: [Int] = []
        /// The GOAWAY frames in order.
        var goAways: [GoAway] = []
        var pingAcks = 0
        var isClosed = false
        var failure: String?
    }

    private struct State {
        var seen = Seen()
        var waiters: [(@Sendable (Seen) -> Bool, CheckedContinuation<Seen, Never>)] = []
        var nextStream = 1
    }

    private let state = Locked(State())
    private let channelBox = Locked<(any Channel)?>(nil)

    /// Opens a connection; `first` is sent before anything can have arrived from the server.
    static func connect(
        port: Int,
        caFile: String,
        alpn: String = "h2",
        certificate: ClientCertificate? = nil,
        first: [TestRequest]
    ) async throws -> PushClient {
        let client = PushClient()
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(caFile)
        configuration.applicationProtocols = [alpn]
        if let certificate {
            configuration.certificateChain = certificate.chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(certificate.key)
        }
        let tls = try NIOSSLContext(configuration: configuration)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        NIOSSLClientHandler(context: tls, serverHostname: "localhost"),
                        NIOHTTP2Handler(mode: .client),
                        FrameRecorder(client: client, first: first),
                    ])
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        client.channelBox.withLock { $0 = channel }
        return client
    }

    var seen: Seen { state.withLock { $0.seen } }

    /// Waits until the received data satisfies a condition.
    func wait(_ condition: @escaping @Sendable (Seen) -> Bool) async -> Seen {
        await withCheckedContinuation { continuation in
            let now = state.withLock { state -> Seen? in
                if condition(state.seen) { return state.seen }
                state.waiters.append((condition, continuation))
                return nil
            }
            if let now { continuation.resume(returning: now) }
        }
    }

    func update(_ change: (inout Seen) -> Void) {
        let fulfilled = state.withLock { state -> [(CheckedContinuation<Seen, Never>, Seen)] in
            change(&state.seen)
            let due = state.waiters.filter { $0.0(state.seen) }
            state.waiters.removeAll { $0.0(state.seen) }
            return due.map { ($0.1, state.seen) }
        }
        for (continuation, seen) in fulfilled {
            continuation.resume(returning: seen)
        }
    }

    func takeStream() -> Int {
        state.withLock { state in
            defer { state.nextStream += 2 }
            return state.nextStream
        }
    }

    /// Sends a request and waits for its end: an answer, a reset or the end of the connection.
    func push(_ request: TestRequest) async throws -> Response {
        let stream = try await begin(request)
        return await response(on: stream)
    }

    func response(on stream: Int) async -> Response {
        let seen = await wait { seen in
            let response = seen.responses[stream]
            return response?.isComplete == true || response?.reset != nil || seen.isClosed
        }
        return seen.responses[stream] ?? Response()
    }

    /// Sends a request without waiting.
    func begin(_ request: TestRequest) async throws -> Int {
        let stream = takeStream()
        for frame in Self.frames(request, on: stream) {
            try await write(frame)
        }
        return stream
    }

    /// Sends only the headers of a request with a body.
    func beginHeaders(_ request: TestRequest) async throws -> Int {
        let stream = takeStream()
        try await write(Self.frames(request.with(body: "x"), on: stream)[0])
        return stream
    }

    func ping() async throws {
        try await write(HTTP2Frame(streamID: .rootStream, payload: .ping(HTTP2PingData(withInteger: 7), ack: false)))
    }

    func cancel(_ stream: Int) async throws {
        try await write(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: .rstStream(.cancel)))
    }

    func close() async {
        try? await channelBox.withLock { $0 }?.close()
    }

    private func write(_ frame: HTTP2Frame) async throws {
        // The client queues frames that exceed the stream limit, so the write is not awaited.
        channelBox.withLock { $0 }?.writeAndFlush(frame, promise: nil)
    }

    static func frames(_ request: TestRequest, on stream: Int) -> [HTTP2Frame] {
        let id = HTTP2StreamID(stream)
        var frames = [
            HTTP2Frame(
                streamID: id,
                payload: .headers(.init(headers: request.head, endStream: request.content.isEmpty))
            )
        ]
        if !request.content.isEmpty {
            let data = IOData.byteBuffer(ByteBuffer(bytes: request.content))
            frames.append(HTTP2Frame(streamID: id, payload: .data(.init(data: data, endStream: true))))
        }
        return frames
    }
}

/// Records the frames that a client receives.
private final class FrameRecorder: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let client: PushClient
    private let first: [TestRequest]

    init(client: PushClient, first: [TestRequest]) {
        self.client = client
        self.first = first
    }

    func channelActive(context: ChannelHandlerContext) {
        for request in first {
            for frame in PushClient.frames(request, on: client.takeStream()) {
                context.write(wrapOutboundOut(frame), promise: nil)
            }
        }
        context.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let stream = Int(frame.streamID)
        client.update { seen in
            switch frame.payload {
            case .headers(let payload):
                seen.responses[stream, default: .init()].headers = payload.headers
                seen.responses[stream]?.isComplete = payload.endStream
            case .data(let payload):
                if case .byteBuffer(let bytes) = payload.data {
                    seen.responses[stream, default: .init()].body += String(buffer: bytes)
                    seen.responses[stream]?.dataFrames += 1
                }
                seen.responses[stream]?.isComplete = payload.endStream
            case .rstStream(let code): seen.responses[stream, default: .init()].reset = code
            case .settings(.settings(let settings)):
                seen.streamLimits += settings.filter { $0.parameter == .maxConcurrentStreams }.map(\.value)
                seen.windows += settings.filter { $0.parameter == .initialWindowSize }.map(\.value)
            case .goAway(let last, _, let debug):
                seen.goAways.append(.init(lastStream: Int(last), debug: debug.map { String(buffer: $0) } ?? ""))
            case .ping(_, ack: true): seen.pingAcks += 1
            default: break
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        client.update { $0.failure = "\(error)" }
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        client.update { $0.isClosed = true }
    }
}
