internal import CCurl
internal import PushTransport

/// How much a peer may have libcurl read in one call.
///
/// libcurl reads HTTP/2 until nothing is there to read or an answer has a part: a peer that sends PING or empty frames without
/// an end would keep the thread, and with it all that the thread sends to others. No answer is that long.
struct CallBudget {
    /// Bytes that are read in any case.
    var bytes = 1 << 20
    /// Nanoseconds that a call may go on behind them: a process that stood still meanwhile has not read as much.
    var time: Int64 = 250_000_000

    private var read = 0
    private var end = MonotonicTime.max

    /// Counts what was read.
    ///
    /// - Parameters:
    ///   - count: bytes.
    ///   - now: the time.
    /// - Returns: whether it was too much for too long.
    mutating func take(_ count: Int, now: () -> MonotonicTime) -> Bool {
        read += count
        guard read > bytes else { return false }
        if end == .max { end = now() + time }
        return now() >= end
    }
}

/// Has each record counted that is read on a connection; libcurl calls it before a handshake.
func countRecords(
    _ easy: UnsafeMutableRawPointer?,
    _ tls: UnsafeMutableRawPointer?,
    _ context: UnsafeMutableRawPointer?
) -> CURLcode {
    guard let connection = unsafe transferBehind(context)?.connection else { return CURLE_OK }
    // The connection ends its multi handle, and with it OpenSSL's context, before it is released.
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
