internal import NIOCore
internal import NIOHTTP1

/// Refuses HTTP/1.1 requests without a `Host` or with several (RFC 9112 section 3.2).
///
/// If the request target is an absolute URI, as clients send it to proxies, its host replaces the `Host` field.
final class HostRule: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        guard case .head(let head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard let checked = Self.checked(head) else {
            // Like a parser error: 400 follows the answers to earlier requests, and nothing more is read.
            isRefused = true
            context.fireErrorCaught(HTTPParserError.unknown)
            return
        }
        context.fireChannelRead(wrapInboundOut(.head(checked)))
    }

    /// Returns the head as later handlers read it, or nil for a request to refuse.
    static func checked(_ head: HTTPRequestHead) -> HTTPRequestHead? {
        let hosts = head.headers["host"]
        let isOld = head.version.major < 1 || head.version == .http1_0
        guard hosts.count == 1 || hosts.isEmpty && isOld else { return nil }
        let scheme = head.uri.prefix(8).lowercased()
        guard scheme.hasPrefix("http://") || scheme == "https://" else { return head }
        let rest = head.uri.dropFirst(scheme == "https://" ? 8 : 7)
        let authority = rest.prefix { !"/?#".contains($0) }
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        let path = rest.dropFirst(authority.count)
        var head = head
        head.headers.replaceOrAdd(name: "host", value: String(authority))
        head.uri = path.hasPrefix("/") ? String(path) : "/\(path)"
        return head
    }
}

extension HostRule {
    /// Adds a ``HostRule`` directly behind the HTTP parser.
    final class Placing: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = NIOAny

        func handlerAdded(context: ChannelHandlerContext) {
            do {
                let pipeline = context.pipeline.syncOperations
                let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
                try pipeline.addHandler(HostRule(), position: .after(parser))
            } catch {
                context.close(promise: nil)
            }
        }
    }
}
