import Glibc
import NIOCore

/// Sits below TLS, where a connection can be made mute or be cut without a goodbye.
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

    /// From now on everything that arrives is read and thrown away, and nothing is sent; TCP itself lives on.
    func silence() {
        isSilent = true
    }

    /// Closes at once, without TLS's close_notify.
    ///
    /// - Parameter reset: with a TCP RST, which also discards what the peer has not yet read.
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

/// Tells a connection to end without TLS's goodbye, which would wait for the peer.
struct CutNow: Sendable {}
