internal import CCurl
internal import PushTransport

/// The limit for what libcurl may read from a peer in one call.
///
/// libcurl reads HTTP/2 frames until the socket is empty or a part of an answer has arrived. A peer that sends PING or
/// empty frames without end would therefore block the thread and all other requests on it. No answer is as long as the
/// limit.
struct CallBudget {
    /// Bytes that are always read.
    var bytes = 1 << 20
    /// Nanoseconds that a call may continue after ``bytes``; the second limit spares a process that was suspended
    /// during the call.
    var time: Int64 = 250_000_000

    private var read = 0
    private var end = MonotonicTime.max

    /// Counts bytes that were read.
    ///
    /// - Parameters:
    ///   - count: the number of bytes.
    ///   - now: returns the current time.
    /// - Returns: whether both limits are exceeded.
    mutating func take(_ count: Int, now: () -> MonotonicTime) -> Bool {
        read += count
        guard read > bytes else { return false }
        if end == .max { end = now() + time }
        return now() >= end
    }
}

/// Counts each TLS record that is read on a connection; libcurl calls it before a handshake.
func countRecords(
    _ easy: UnsafeMutableRawPointer?,
    _ tls: UnsafeMutableRawPointer?,
    _ context: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let connection = unsafe transferBehind(context)?.connection else { return CURLE_OK }
    // The connection closes its multi handle, and with it OpenSSL's context, before it is released.
    unsafe ccurl_count_records(tls, recordCame, Unmanaged.passUnretained(connection).toOpaque())
    return CURLE_OK
}

private func recordCame(
    _ isWritten: Int32,
    _ version: Int32,
    _ type: Int32,
    _ bytes: UnsafeRawPointer?,
    _ count: Int,
    _ tls: OpaquePointer?,
    _ context: UnsafeMutableRawPointer?
) {
    guard isWritten == 0, type == CCURL_RECORD_HEADER, count == 5 else { return }
    guard let bytes = unsafe bytes, let context = unsafe context else { return }
    let length = unsafe Int(bytes.load(fromByteOffset: 3, as: UInt8.self)) << 8
    let rest = unsafe Int(bytes.load(fromByteOffset: 4, as: UInt8.self))
    unsafe Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().count(length + rest + count)
}
