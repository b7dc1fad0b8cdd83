internal import NIOCore
internal import NIOHTTPTypes

/// Closes connections on which a request does not arrive in time.
///
/// However slowly bytes come: what counts is the whole request, not the next byte. Between requests a connection may idle as long as
/// a first request may take to begin.
final class RequestDeadline: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// How long the head of a request may take, TLS and idling included.
    static let head = TimeAmount.seconds(30)
    /// How long a body may take after its head.
    static let body = TimeAmount.seconds(10)

    private let head: TimeAmount
    private let body: TimeAmount
    private var alarm: Scheduled<Void>?
    /// Whether a request has begun to come and has not ended.
    private var isReceiving = false
    /// How many requests wait for the end of their answer.
    private var unanswered = 0

    /// Makes one for a connection.
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
            // One that was refused before it had come is over only now.
            if unanswered == 0 { expect(within: head, context) } else { alarm?.cancel() }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            unanswered = max(unanswered - 1, 0)
            // The rest of what was refused has no more time than if it were read.
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
