internal import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes

/// Refuses requests whose body length a proxy in front may read differently from this server.
///
/// The parser takes an unknown transfer encoding for no body, and the body for the next request (request smuggling).
final class RequestFraming: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        if case .head(let head) = unwrapInboundIn(data), let encoding = head.headerFields[.transferEncoding],
            encoding.lowercased() != "chunked"
        {
            // Like a parser error: 400 follows the answers to earlier requests, and nothing more is read.
            isRefused = true
            context.fireErrorCaught(HTTPParserError.unknown)
            return
        }
        context.fireChannelRead(data)
    }
}
