internal import CPostgres

/// Asks the server to end what a session runs, from any thread.
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

    /// Asks, over a connection of its own, and blocks until the server has passed it on or cannot be reached.
    ///
    /// The statement may have ended meanwhile, and then the next one of the session may be hit. libpq before version 17 asks in
    /// plain text also where the session has TLS: who reads it can cancel that session's statements, and nothing else.
    public func cancel() {
        // What it says is of no use: whether the statement ends shows on its own connection.
        _ = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
            unsafe PQcancel(pointer, message.baseAddress, Int32(message.count))
        }
    }
}
