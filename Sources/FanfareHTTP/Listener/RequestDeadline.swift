internal import NIOCore
internal import NIOHTTPTypes

/// Closes connections on which a request does not arrive in time.
///
/// The timeout covers the whole request, so a client that sends slowly gains nothing. Between requests a connection may
/// idle as long as the head of a request may take.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long the head of a request may take, including the TLS handshake and idle time.
    static let head = TimeAmount.seconds(30)
    /// How long a body may take after its head.
    static let body = TimeAmount.seconds(10)

    private let head: TimeAmount
    private let body: TimeAmount
    private var alarm: Scheduled<Void>?
    /// Whether a request has begun to arrive and has not ended.
    private var isReceiving = false
    /// The number of requests whose response has not ended.
    private var unanswered = 0

    /// Creates the handler of one connection.
    ///
    /// - Parameters:
    ///   - head: how long the head of a request may take.
    ///   - body: how long its body may take.
    init(head: TimeAmount = RequestDeadline.head, body: TimeAmount = RequestDeadline.body) {
        (self.head, self.body) = (head, body)
    }

    func handlerAdded(context: ChannelHandlerContext) { expect(within: head, context) }

    func handlerRemoved(context: ChannelHandlerContext) { alarm?.cancel() }

    func channelInactive(context: ChannelHandlerContext) {
        alarm?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head:
            (isReceiving, unanswered) = (true, unanswered + 1)
            expect(within: body, context)
        case .body: break
        case .end:
            isReceiving = false
            // A request that was refused before its body arrived ends only here.
            if unanswered == 0 { expect(within: head, context) } else { alarm?.cancel() }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            unanswered = max(unanswered - 1, 0)
            // The unread rest of a refused request keeps the deadline of its body.
            if !isReceiving, unanswered == 0 { expect(within: head, context) }
        }
        context.write(data, promise: promise)
    }

    private func expect(within time: TimeAmount, _ context: ChannelHandlerContext) {
        alarm?.cancel()
        let channel = context.channel
        alarm = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
    }
}
