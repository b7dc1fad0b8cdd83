internal import NIOCore

/// Closes connections whose client stops reading its response, and connections that outlast a shutdown.
///
/// The pending bytes must fall below the socket's write limit within the timeout; slow partial reads do not extend it.
/// No response writes more until then. The handler stands first in the pipeline, so that closing skips TLS's
/// close_notify, which would wait for the same client.
final class AnswerDeadline: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    /// How long the pending bytes of a connection may exceed its write limit.
    static let answer = TimeAmount.seconds(30)
    /// The same limit while the server shuts down.
    static let farewell = TimeAmount.seconds(2)
    /// How long a shutdown waits for requests in progress; longer than the statement timeout.
    static let drain = TimeAmount.seconds(7)

    private let times: ListenerTimes
    private var isDraining = false
    private var alarm: Scheduled<Void>?
    private var end: Scheduled<Void>?

    /// Creates the handler of one connection.
    ///
    /// - Parameter times: the timeouts.
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
            // A client that keeps sending requests would never finish.
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
    /// Adds an ``AnswerDeadline`` in front of the handlers that the connection has so far.
    final class Placing: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = NIOAny

        private let times: ListenerTimes

        /// Creates the handler of one connection.
        ///
        /// - Parameter times: the timeouts.
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
