import NIOCore
import NIOHTTP1

/// Reads a request to the control interface and sends the response; requests on a connection are handled one by one.
final class ControlHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private static let largestBody = 4 << 20

    private let routes: ControlRoutes
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isTooLarge = false
    private var task: Task<Void, Never>?

    init(_ routes: ControlRoutes) {
        self.routes = routes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isTooLarge = false
        case .body(let buffer):
            guard body.count + buffer.readableBytes <= Self.largestBody else {
                isTooLarge = true
                return
            }
            body.append(contentsOf: buffer.readableBytesView)
        case .end:
            guard let head else { return }
            let request = ControlRequest(method: head.method, uri: head.uri, body: body)
            let writer = ControlWriter(channel: context.channel, keepsAlive: head.isKeepAlive)
            let refusal = refusal(head)
            let routes = routes
            // Ends by itself: every wait in it has a timeout, and channelInactive cancels it.
            task = Task {
                if let refusal {
                    await writer.send(refusal)
                } else {
                    await writer.send(await routes.answer(request))
                }
            }
        }
    }

    private func refusal(_ head: HTTPRequestHead) -> ControlAnswer? {
        ControlAdmission.refusal(head.headers, hasBody: isTooLarge || !body.isEmpty)
            ?? (isTooLarge ? .failure(.payloadTooLarge, "the body must not exceed 4 MiB") : nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        task?.cancel()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// Sends a response of the control interface, with backpressure.
struct ControlWriter: Sendable {
    let channel: any Channel
    let keepsAlive: Bool

    func send(_ answer: ControlAnswer) async {
        do {
            try await write(.head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers(answer))))
            switch answer.body {
            case .bytes(let bytes):
                if !bytes.isEmpty {
                    try await write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
                }
            case .lines(let extent, let limit):
                try await extent.forEachBlock(limit: limit) { lines in
                    try await write(.body(.byteBuffer(ByteBuffer(bytes: lines))))
                }
            }
            try await write(.end(nil))
            guard !keepsAlive else { return }
        } catch {
            // The client sees an incomplete response rather than one that looks complete.
        }
        channel.close(promise: nil)
    }

    private func headers(_ answer: ControlAnswer) -> HTTPHeaders {
        var headers = HTTPHeaders()
        if answer.status != .noContent {
            headers.add(name: "content-type", value: answer.contentType)
        }
        switch answer.body {
        case .bytes(let bytes) where answer.status != .noContent:
            headers.add(name: "content-length", value: String(bytes.count))
        case .lines: headers.add(name: "transfer-encoding", value: "chunked")
        default: break
        }
        headers.add(name: "connection", value: keepsAlive ? "keep-alive" : "close")
        return headers
    }

    private func write(_ part: HTTPServerResponsePart) async throws {
        try await channel.writeAndFlush(part)
    }
}
