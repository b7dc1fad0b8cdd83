internal import NIOCore
internal import NIOHTTP1

/// Refuses HTTP/1.1 requests without a `Host`, or with several (RFC 9112 section 3.2).
///
/// In a target that names a host, as clients send it to
/// proxies, that host counts.
final class HostRule: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private var isRefused = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        guard case .head(let head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
        guard let checked = Self.checked(head) else {
            // As the parser refuses: answered 400 behind what was asked before, and nothing more is read.
            isRefused = true
            context.fireErrorCaught(HTTPParserError.unknown)
            return
        }
        context.fireChannelRead(wrapInboundOut(.head(checked)))
    }

    /// The head as what comes behind reads it; nil for one that is refused.
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
    /// Puts one between the parser and what comes behind.
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
