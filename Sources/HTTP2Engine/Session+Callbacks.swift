internal import CNGHTTP2
import Glibc
internal import PushTransport

/// nghttp2's callbacks, which are the same for every session.
@safe
final class SessionCallbacks: @unchecked Sendable {
    // Sendable: written once, before it is shared; nghttp2 copies it into each session.
    let pointer: OpaquePointer
    let option: OpaquePointer

    /// The instance of this process; nil if memory ran out.
    static let shared = SessionCallbacks()

    private init?() {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks = unsafe callbacks else {
            return nil
        }
        guard unsafe nghttp2_option_new(&option) == 0, let option = unsafe option else {
            unsafe nghttp2_session_callbacks_del(callbacks)
            return nil
        }
        unsafe pointer = callbacks
        unsafe self.option = option
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, receiveHeader)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receiveBody)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receiveFrame)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closeStream)
        unsafe nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, beforeFrame)
        // APNs allows 1 stream at first, and a peer refuses streams above its limit.
        unsafe nghttp2_option_set_peer_max_concurrent_streams(option, 1)
        // A peer that causes many replies and does not read them is hostile or broken.
        unsafe nghttp2_option_set_max_outbound_ack(option, 128)
        unsafe nghttp2_option_set_max_settings(option, 32)
        unsafe nghttp2_option_set_max_reserved_remote_streams(option, 0)
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
    }

    deinit {
        unsafe nghttp2_session_callbacks_del(pointer)
        unsafe nghttp2_option_del(option)
    }
}

private typealias Context = UnsafeMutablePointer<SessionState>

private func state(_ context: UnsafeMutableRawPointer?) -> Context? {
    unsafe context?.assumingMemoryBound(to: SessionState.self)
}

private func slot(of stream: Int32, in session: OpaquePointer?) -> UnsafeMutablePointer<Slot>? {
    unsafe nghttp2_session_get_stream_user_data(session, stream)?.assumingMemoryBound(to: Slot.self)
}

private func beginHeaders(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    unsafe state(context)?.pointee.current = slot(of: cnghttp2_frame_stream(frame), in: session)
    return 0
}

private func receiveHeader(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ name: UnsafePointer<UInt8>?,
    _ nameCount: Int,
    _ value: UnsafePointer<UInt8>?,
    _ valueCount: Int,
    _ flags: UInt8,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = unsafe state(context), let slot = unsafe state.pointee.current else { return 0 }
    guard let name = unsafe name, let value = unsafe value else { return 0 }
    unsafe slot.pointee.headerBytes += nameCount + valueCount + 32
    guard unsafe slot.pointee.headerBytes <= state.pointee.readLimit else {
        // Resets the stream. The status counts if its header block had arrived completely before.
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
    }
    if unsafe name[0] == UInt8(ascii: ":") {
        // `:status` is the only pseudo-header field of responses; nghttp2 has checked that it has three digits.
        var status: UInt16 = 0
        for index in 0..<valueCount { unsafe status = status &* 10 &+ UInt16(value[index] &- UInt8(ascii: "0")) }
        if status >= 200 { unsafe slot.pointee.announcedStatus = status }
    } else if unsafe slot.pointee.announcedStatus > 200 {
        unsafe state.pointee.owner.takeUnretainedValue().keep(
            UnsafeBufferPointer(start: name, count: nameCount),
            UnsafeBufferPointer(start: value, count: valueCount),
            of: slot.pointee.index
        )
    }
    return 0
}

private func receiveBody(
    _ session: OpaquePointer?,
    _ flags: UInt8,
    _ stream: Int32,
    _ bytes: UnsafePointer<UInt8>?,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = unsafe state(context), let slot = unsafe slot(of: stream, in: session) else { return 0 }
    unsafe slot.pointee.answerBytes += count
    if unsafe slot.pointee.status != 200 {
        let bytes = unsafe UnsafeBufferPointer(start: bytes, count: count)
        unsafe state.pointee.owner.takeUnretainedValue().keep(body: bytes, of: slot.pointee.index)
    }
    if unsafe slot.pointee.answerBytes > state.pointee.readLimit { unsafe abandon(slot, state, session) }
    return 0
}

/// Ends a request whose answer is known, and resets its stream.
private func abandon(_ slot: UnsafeMutablePointer<Slot>, _ state: Context, _ session: OpaquePointer?) {
    let stream = unsafe slot.pointee.streamID
    unsafe nghttp2_session_set_stream_user_data(session, stream, nil)
    unsafe nghttp2_submit_rst_stream(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_CANCEL.rawValue)
    unsafe state.pointee.finish(slot)
}

private func receiveFrame(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = unsafe state(context), let frame = unsafe frame else { return 0 }
    let flags = unsafe UInt32(cnghttp2_frame_flags(frame))
    switch unsafe UInt32(cnghttp2_frame_type(frame)) {
    case NGHTTP2_SETTINGS.rawValue where flags & NGHTTP2_FLAG_ACK.rawValue == 0:
        unsafe state.pointee.newLimit = nghttp2_session_get_remote_settings(
            session,
            NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        )
        let limit = unsafe nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE)
        let smallest = unsafe min(limit, state.pointee.newTableLimit?.smallest ?? limit)
        unsafe state.pointee.newTableLimit = (limit, smallest)
    case NGHTTP2_GOAWAY.rawValue:
        unsafe state.pointee.goaway = cnghttp2_goaway_code(frame)
        let words = unsafe UnsafeBufferPointer(
            start: cnghttp2_goaway_data(frame),
            count: cnghttp2_goaway_length(frame)
        )
        unsafe state.pointee.owner.takeUnretainedValue().keep(goaway: words)
    case NGHTTP2_HEADERS.rawValue:
        // nghttp2 reports HEADERS when the block with all its CONTINUATION frames is complete; a partial block is no
        // answer.
        if let slot = unsafe slot(of: cnghttp2_frame_stream(frame), in: session) {
            unsafe slot.pointee.status = slot.pointee.announcedStatus
        }
        unsafe endOfAnswer(frame, state, session)
    case NGHTTP2_DATA.rawValue: unsafe endOfAnswer(frame, state, session)
    default: break
    }
    return 0
}

/// Ends a request that was answered before its body was sent completely; the rest is not sent.
private func endOfAnswer(_ frame: UnsafePointer<nghttp2_frame>, _ state: Context, _ session: OpaquePointer?) {
    guard unsafe UInt32(cnghttp2_frame_flags(frame)) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
        let slot = unsafe slot(of: cnghttp2_frame_stream(frame), in: session), unsafe slot.pointee.status > 0
    else { return }
    if unsafe slot.pointee.bodyOffset < slot.pointee.contentLength { unsafe abandon(slot, state, session) }
}

private func closeStream(
    _ session: OpaquePointer?,
    _ stream: Int32,
    _ code: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let state = unsafe state(context), let slot = unsafe slot(of: stream, in: session) else { return 0 }
    unsafe slot.pointee.closeCode = code
    if unsafe state.pointee.current == slot { unsafe state.pointee.current = nil }
    unsafe state.pointee.finish(slot)
    return 0
}

/// Records the request's first byte in the output: until the socket has taken it, the peer cannot have the request.
private func beforeFrame(
    _ session: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard unsafe cnghttp2_frame_type(frame) == NGHTTP2_HEADERS.rawValue else { return 0 }
    guard let state = unsafe state(context) else { return 0 }
    let slot = unsafe slot(of: cnghttp2_frame_stream(frame), in: session)
    unsafe slot?.pointee.wireStart = state.pointee.produced
    return 0
}

/// Copies the next part of a request's body; nghttp2 may ask for a part of it.
func readBody(
    _ session: OpaquePointer?,
    _ stream: Int32,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ limit: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let state = unsafe state(context), let buffer = unsafe buffer, let flags = unsafe flags,
        let slot = unsafe cnghttp2_source(source)?.assumingMemoryBound(to: Slot.self),
        unsafe slot.pointee.streamID == stream, unsafe slot.pointee.stage == .submitted
    else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    if unsafe state.pointee.isTooLate {
        unsafe slot.pointee.end = .tooLate
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let request = unsafe state.pointee.requests + Int(slot.pointee.index)
    let copied = unsafe request.pointee.copyBody(from: slot.pointee.bodyOffset, to: buffer, limit)
    unsafe slot.pointee.bodyOffset += copied
    if unsafe slot.pointee.bodyOffset >= slot.pointee.contentLength {
        unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    }
    return copied
}

extension PushRequest {
    /// Copies a part of the body, which consists of prefix, insertion and suffix.
    fileprivate func copyBody(from offset: Int, to buffer: UnsafeMutablePointer<UInt8>, _ limit: Int) -> Int {
        var (skipped, copied) = (offset, 0)
        unsafe Self.copy(body.prefix, &skipped, &copied, buffer, limit)
        if !insertion.isEmpty { unsafe Self.copy(insertion, &skipped, &copied, buffer, limit) }
        if !body.suffix.isEmpty { unsafe Self.copy(body.suffix, &skipped, &copied, buffer, limit) }
        return copied
    }

    private static func copy(
        _ bytes: [UInt8],
        _ skipped: inout Int,
        _ copied: inout Int,
        _ buffer: UnsafeMutablePointer<UInt8>,
        _ limit: Int
    ) {
        let start = min(skipped, bytes.count)
        skipped -= start
        let count = min(bytes.count - start, limit - copied)
        guard count > 0 else { return }
        unsafe bytes.withUnsafeBufferPointer { source in
            guard let base = source.baseAddress else { return }
            unsafe (buffer + copied).update(from: base + start, count: count)
        }
        copied += count
    }
}
