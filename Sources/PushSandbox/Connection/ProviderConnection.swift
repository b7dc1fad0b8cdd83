import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOSSL
import NIOTLS

/// One HTTP/2 connection to the simulated services.
///
/// It handles frames without a channel per stream, which halves its cost; faults need the frames anyway.
final class ProviderConnection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// A request without a response.
    struct OpenStream {
        let head: RequestHead
        /// The index of its service.
        let service: Int
        var body: ByteBuffer
        var isComplete = false
    }

    /// The largest body that is read; every service's limit is lower, and a larger body is rejected without reading on.
    private static let largestBody = 65_536
    /// The increment of the connection's flow-control window beyond the protocol's 65,535 bytes.
    private static let windowIncrement = 16 << 20

    let state: SandboxState
    let environment: Environment
    let transport: TransportHandler
    let tap: FrameTap
    var context: ChannelHandlerContext?
    var streams: [HTTP2StreamID: OpenStream] = [:]
    /// The last stream that a GOAWAY promised to process.
    var lastStream: HTTP2StreamID?
    /// Whether the connection closes as soon as no stream is open.
    var isDraining = false
    var isEnding = false
    private(set) var number = 0
    private var sessions: [(any ProviderSession)?]
    private var streamLimit: Int
    /// The granted stream limit of any service; nil before the first grant.
    private var granted: Int?
    private var client: TLSClient
    /// The flow-control window per stream that was last announced, in bytes.
    private var window: Int
    private var isOpen = false
    private var maxStreams = 0
    private var unacknowledgedBytes = 0
    private var needsFlush = false

    init(state: SandboxState, environment: Environment, transport: TransportHandler, tap: FrameTap) {
        self.state = state
        self.environment = environment
        self.transport = transport
        self.tap = tap
        sessions = Array(repeating: nil, count: state.router.simulators.count)
        streamLimit = state.options.firstStreamLimit
        window = state.options.initialWindow
        client = TLSClient(environment: environment, unixMicroseconds: state.options.unixMicroseconds())
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        number = state.register(context.channel)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        streams = [:]
        state.unregister(number)
    }

    func channelInactive(context: ChannelHandlerContext) {
        streams = [:]
        isEnding = true
        if isOpen {
            let maxStreams = maxStreams
            state.ledger.update { $0.connectionClosed(maxStreams: maxStreams) }
        }
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted:
            isOpen = true
            state.ledger.update { $0.connectionOpened() }
            write(.windowUpdate(windowSizeIncrement: Self.windowIncrement), on: .rootStream)
            announceWindow()
            if let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate() {
                present(certificate)
            }
            flush()
        case is SettingsChanged:
            announceWindow()
            if let granted { announce(state.faults.streamLimit ?? granted) }
            flush()
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A stream error was answered by RST_STREAM; any other error makes the connection unusable.
        guard !(error is NIOHTTP2Errors.StreamError) else { return }
        transport.cut(reset: false)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding else { return }
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers): receive(headers, on: frame.streamID)
        case .data(let data): receive(data, on: frame.streamID)
        case .rstStream:
            if streams.removeValue(forKey: frame.streamID) != nil {
                state.ledger.update { $0.streamCancelled() }
                endIfDrained()
            }
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flush()
        context.fireChannelReadComplete()
    }

    // MARK: - Requests

    /// Passes a client certificate to the services; one that accepts it may raise the stream limit at once.
    private func present(_ certificate: NIOSSLCertificate) {
        client.certificate = try? certificate.toDERBytes()
        for (index, simulator) in state.router.simulators.enumerated() where session(index).isTrustedFromStart {
            widen(to: simulator.streamLimit)
        }
    }

    private func session(_ index: Int) -> any ProviderSession {
        if let session = sessions[index] { return session }
        let session = state.router.simulators[index].makeSession(for: client)
        sessions[index] = session
        return session
    }

    private func receive(_ payload: HTTP2Frame.FramePayload.Headers, on id: HTTP2StreamID) {
        if let lastStream, id > lastStream { return }
        if streams[id] == nil {
            let head = RequestHead(payload.headers)
            let service = state.router.index(for: head)
            let simulator = state.router.simulators[service]
            if !simulator.opensNarrow {
                widen(to: simulator.streamLimit)
            }
            guard streams.count < streamLimit else {
                state.ledger.update { $0.streamRefused() }
                write(.rstStream(.refusedStream), on: id)
                return
            }
            streams[id] = OpenStream(head: head, service: service, body: ByteBuffer())
            if streams.count > maxStreams {
                maxStreams = streams.count
                state.ledger.update { [maxStreams] in $0.raise(maxStreams: maxStreams) }
            }
            closeAtHeaders(id)
        }
        if payload.endStream {
            complete(id)
        }
    }

    private func receive(_ payload: HTTP2Frame.FramePayload.Data, on id: HTTP2StreamID) {
        guard case .byteBuffer(var bytes) = payload.data else { return }
        replenish(bytes.readableBytes, on: payload.endStream ? nil : id)
        guard var stream = streams.removeValue(forKey: id) else { return }
        if stream.body.readableBytes == 0 {
            stream.body = bytes
        } else {
            stream.body.writeBuffer(&bytes)
        }
        let isTooLarge = stream.body.readableBytes > Self.largestBody
        let wasComplete = stream.isComplete
        streams[id] = stream
        if (payload.endStream || isTooLarge) && !wasComplete {
            complete(id)
        }
        if isTooLarge && !payload.endStream {
            // RFC 9113 section 8.1: the response is complete, and the rest of the request is not needed. Flushed first,
            // because a reset discards what is queued on its stream.
            flush()
            write(.rstStream(.noError), on: id)
        }
    }

    /// Returns flow-control credit: for the stream at once, for the connection when half of it is used up.
    private func replenish(_ count: Int, on id: HTTP2StreamID?) {
        guard count > 0 else { return }
        if let id {
            write(.windowUpdate(windowSizeIncrement: count), on: id)
        }
        unacknowledgedBytes += count
        if unacknowledgedBytes >= Self.windowIncrement / 2 {
            write(.windowUpdate(windowSizeIncrement: unacknowledgedBytes), on: .rootStream)
            unacknowledgedBytes = 0
        }
    }

    private func closeAtHeaders(_ id: HTTP2StreamID) {
        guard !state.faults.isEmpty, let stream = streams[id] else { return }
        let provider = state.router.simulators[stream.service]
        let target = provider.target(of: stream.head)
        if state.faults.closesAtHeaders(provider: provider.name, environment: environment, target: target) {
            end()
        }
    }

    private func complete(_ id: HTTP2StreamID) {
        guard !isEnding, let stream = streams[id] else { return }
        streams[id]?.isComplete = true
        let session = session(stream.service)
        let simulator = state.router.simulators[stream.service]
        let request = PushRequest(
            head: stream.head,
            environment: environment,
            body: stream.body,
            atNanoseconds: NIODeadline.now().uptimeNanoseconds,
            unixMicroseconds: state.options.unixMicroseconds()
        )
        let judgement = session.judge(request)
        if judgement.trusted {
            widen(to: simulator.streamLimit)
        }
        perform(request, judgement, session, provider: simulator.name, on: id)
    }

    /// Grants the stream limit of a service, unless a higher one was granted.
    private func widen(to limit: Int) {
        if let granted, granted >= limit { return }
        granted = limit
        announce(state.faults.streamLimit ?? limit)
    }

    /// Changes the stream limit by a SETTINGS frame; it applies at once, because a server may refuse any stream.
    private func announce(_ limit: Int) {
        guard limit != streamLimit, !isEnding else { return }
        streamLimit = limit
        flush()
        tap.expectSettings()
        let setting = HTTP2Setting(parameter: .maxConcurrentStreams, value: limit + FrameTap.limitOffset)
        write(.settings(.settings([setting])), on: .rootStream)
        needsFlush = true
    }

    /// Changes the window of all streams, including open ones (RFC 9113 section 6.9.2).
    private func announceWindow() {
        let wanted = state.faults.window ?? state.options.initialWindow
        guard isOpen, !isEnding, wanted != window else { return }
        window = wanted
        let setting = HTTP2Setting(parameter: .initialWindowSize, value: wanted)
        write(.settings(.settings([setting])), on: .rootStream)
    }

    // MARK: - Sending

    func write(_ payload: HTTP2Frame.FramePayload, on id: HTTP2StreamID) {
        context?.write(wrapOutboundOut(HTTP2Frame(streamID: id, payload: payload)), promise: nil)
        needsFlush = true
    }

    func flush() {
        guard needsFlush else { return }
        needsFlush = false
        context?.flush()
    }
}
