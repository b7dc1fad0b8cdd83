import Glibc

/// A value behind a POSIX mutex.
///
/// Used instead of `Synchronization.Mutex` because ThreadSanitizer on Linux does not see that type's futex and reports
/// false races.
@safe
public final class Locked<Value>: @unchecked Sendable {
    // Sendable: `value` is only accessed while `mutex` is held.
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// Creates a lock around a value.
    ///
    /// - Parameter value: the initial value; no other reference into it may exist.
    public init(_ value: sending Value) {
        self.value = value
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        let status = unsafe pthread_mutex_init(mutex, nil)
        precondition(status == 0, "pthread_mutex_init failed: \(status)")
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the value.
    ///
    /// Not recursive: a call from inside `body` deadlocks.
    ///
    /// - Parameter body: receives the value; should be short, since other threads wait.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`.
    public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
