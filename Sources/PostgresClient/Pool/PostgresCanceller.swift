internal import CPostgres

/// Asks the server to cancel a session's statement, from any thread.
@safe
public final class PostgresCanceller: @unchecked Sendable {
    // Sendable: the pointer never changes, and libpq lets any thread use what it points to.
    private let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe PQfreeCancel(pointer)
    }

    /// Sends a cancel request over its own connection and blocks until the server has taken it or cannot be reached.
    ///
    /// The statement may have ended meanwhile; the request may then cancel the session's next statement. Before version
    /// 17, libpq sends the request in plain text even if the session uses TLS: an eavesdropper can then cancel that
    /// session's statements, and do nothing else.
    public func cancel() {
        // The result is not used: the statement's own connection shows whether it was cancelled.
        _ = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            unsafe PQcancel(pointer, message.baseAddress, Int32(message.count))
        }
    }
}
