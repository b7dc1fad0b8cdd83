internal import NIOCore

/// Closes connections whose peer does not read what it is answered, and what a server that drains cannot wait for.
///
/// However little it takes now and then: what counts is that what waits becomes less than the socket's limit in time. Until then
/// nobody writes more. In front of all other handlers, since the farewell of TLS would wait for that peer again.
final class AnswerDeadline: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    /// How long what waits to be read may be more than is kept for a connection.
    static let answer = TimeAmount.seconds(30)
    /// The same for a server that drains.
    static let farewell = TimeAmount.seconds(2)
    /// How long a server that drains waits for what was begun; longer than a statement may take.
    static let drain = TimeAmount.seconds(7)

    private let times: ListenerTimes
    private var isDraining = false
    private var alarm: Scheduled<Void>?
    private var end: Scheduled<Void>?

    /// Makes one for a connection.
    ///
    /// - Parameter times: how long things may take.
    init(_ times: ListenerTimes) {
        self.times = times
    }

    func handlerRemoved(context: ChannelHandlerContext) { rest() }

    func channelInactive(context: ChannelHandlerContext) {
        rest()
        context.fireChannelInactive()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        watch(context)
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isDraining = true
            // Who asks on and on is never done.
            end = close(in: times.drain, context)
            watch(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func watch(_ context: ChannelHandlerContext) {
        alarm?.cancel()
        alarm = context.channel.isWritable ? nil : close(in: isDraining ? times.farewell : times.answer, context)
    }

    private func close(in time: TimeAmount, _ context: ChannelHandlerContext) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }

    private func rest() {
        alarm?.cancel()
        end?.cancel()
    }
}

extension AnswerDeadline {
    /// Puts one in front of what a connection has by then.
    final class Placing: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = NIOAny

        private let times: ListenerTimes

        /// Makes one for a connection.
        ///
        /// - Parameter times: how long things may take.
        init(_ times: ListenerTimes) {
            self.times = times
        }

        func handlerAdded(context: ChannelHandlerContext) {
            do {
                try context.pipeline.syncOperations.addHandler(AnswerDeadline(times), position: .first)
            } catch {
                context.close(promise: nil)
            }
        }
    }
}
