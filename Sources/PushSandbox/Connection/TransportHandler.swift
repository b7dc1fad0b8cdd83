import Glibc
import NIOCore

/// A handler below TLS, where a connection can be silenced or cut without close_notify.
final class TransportHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var context: ChannelHandlerContext?
    private var isSilent = false

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    /// Discards everything that arrives from now on, and sends nothing; the TCP connection stays open.
    func silence() {
        isSilent = true
    }

    /// Closes at once, without TLS's close_notify.
    ///
    /// - Parameter reset: whether to send a TCP RST, which also discards what the peer has not yet read.
    func cut(reset: Bool) {
        guard let context else { return }
        if reset, let options = context.channel as? any SocketOptionProvider {
            options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { [channel = context.channel] _ in
                channel.pipeline.fireUserInboundEventTriggered(CutNow())
            }
        } else {
            context.close(mode: .all, promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is CutNow {
            context.close(mode: .all, promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isSilent else { return }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isSilent else {
            promise?.succeed()
            return
        }
        context.write(data, promise: promise)
    }
}

/// An event that ends a connection without close_notify, which would wait for the peer.
struct CutNow: Sendable {}
