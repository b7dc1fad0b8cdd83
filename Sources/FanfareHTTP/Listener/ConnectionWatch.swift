internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Reports a connection's activity to the connection table, and answers `Expect: 100-continue` when a body is read.
final class ConnectionWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Signals that the route now reads the body of the current request.
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
        // A client that has started to send the body no longer waits for 100 Continue.
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
