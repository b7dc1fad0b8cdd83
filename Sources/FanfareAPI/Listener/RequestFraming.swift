internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes

/// Refuses requests of which a proxy in front may hold another part for the body than this server does.
///
/// What the parser does not know as an encoding it takes for no body, and what follows for the next request (smuggling).
final class RequestFraming: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        if case .head(let head) = unwrapInboundIn(data), let encoding = head.headerFields[.transferEncoding],
            encoding.lowercased() != "chunked"
        {
            // As the parser refuses: answered 400 behind what was asked before, and nothing more is read.
            isRefused = true
            context.fireErrorCaught(HTTPParserError.unknown)
            return
        }
        context.fireChannelRead(data)
    }
}
