internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Tells the table of a connection what happens on it, and a client that waits for it that its body is wanted.
final class ConnectionWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The body of the request that is being answered is read now.
    struct BodyIsWanted: Sendable {}

    private let table: ConnectionTable
    private var expectsContinue = false

    init(_ table: ConnectionTable) { self.table = table }

    func handlerAdded(context: ChannelHandlerContext) { table.open(context.channel) }

    func channelInactive(context: ChannelHandlerContext) {
        table.close(context.channel)
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            table.use(context.channel)
            expectsContinue = head.headerFields[.expect]?.lowercased() == "100-continue"
        // Who has begun to send does not wait.
        case .body, .end: expectsContinue = false
        }
        context.fireChannelRead(data)
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is BodyIsWanted else { return context.triggerUserOutboundEvent(event, promise: promise) }
        promise?.succeed()
        guard expectsContinue else { return }
        expectsContinue = false
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
    }
}
