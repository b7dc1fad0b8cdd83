import NIOCore
import NIOTLS

/// A handler between TLS and HTTP/2 that sends what `NIOHTTP2Handler` would not.
///
/// * `NIOHTTP2Handler` closes the connection when a client exceeds the stream limit; APNs refuses the stream. The
///   handler therefore gets limits raised by `limitOffset`, which are lowered again here on their way out.
/// * `NIOHTTP2Handler` drops streams above a GOAWAY's last one and refuses new ones; the GOAWAY frames of faults bypass
///   it.
final class FrameTap: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The offset added to every stream limit above this handler.
    static let limitOffset = 1_000_000
    private static let headerLength = 9
    private static let settingsType: UInt8 = 4
    private static let maxConcurrentStreams: UInt16 = 3

    private var context: ChannelHandlerContext?
    /// The number of SETTINGS frames that are on their way from above.
    private var expectedSettings = 1

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    /// Records that the next buffer begins with a SETTINGS frame that holds a limit.
    func expectSettings() {
        expectedSettings += 1
    }

    /// Sends a GOAWAY frame (RFC 9113 section 6.8).
    func sendGoAway(lastStream: Int32, debug: String) {
        guard let context else { return }
        var frame = context.channel.allocator.buffer(capacity: Self.headerLength + 8 + debug.utf8.count)
        let length = UInt32(8 + debug.utf8.count)
        frame.writeInteger(UInt8(truncatingIfNeeded: length >> 16))
        frame.writeInteger(UInt16(truncatingIfNeeded: length))
        frame.writeInteger(UInt8(7))  // GOAWAY
        frame.writeInteger(UInt8(0))
        frame.writeInteger(UInt32(0))
        frame.writeInteger(lastStream)
        frame.writeInteger(UInt32(0))  // NO_ERROR
        frame.writeString(debug)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(frame)), promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated) = event as? TLSUserEvent, negotiated != "h2" {
            context.close(promise: nil)
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard expectedSettings > 0, case .byteBuffer(var buffer) = unwrapOutboundIn(data) else {
            context.write(data, promise: promise)
            return
        }
        lowerLimits(in: &buffer)
        context.write(wrapOutboundOut(.byteBuffer(buffer)), promise: promise)
    }

    /// Subtracts the offset from the limits in a buffer's SETTINGS frames.
    private func lowerLimits(in buffer: inout ByteBuffer) {
        var position = buffer.readerIndex
        while expectedSettings > 0, position + Self.headerLength <= buffer.writerIndex,
            let high = buffer.getInteger(at: position, as: UInt8.self),
            let low = buffer.getInteger(at: position + 1, as: UInt16.self),
            let type = buffer.getInteger(at: position + 3, as: UInt8.self)
        {
            let end = position + Self.headerLength + (Int(high) << 16 | Int(low))
            if type == Self.settingsType {
                lowerLimit(in: &buffer, from: position + Self.headerLength, to: end)
            }
            position = end
        }
    }

    private func lowerLimit(in buffer: inout ByteBuffer, from start: Int, to end: Int) {
        for entry in stride(from: start, to: end, by: 6) {
            guard buffer.getInteger(at: entry, as: UInt16.self) == Self.maxConcurrentStreams,
                let value = buffer.getInteger(at: entry + 2, as: UInt32.self), value >= Self.limitOffset
            else { continue }
            buffer.setInteger(value - UInt32(Self.limitOffset), at: entry + 2)
            expectedSettings -= 1
        }
    }
}
