import Glibc

/// A queue from any number of threads to one reader that may block until an element arrives.
///
/// Closing the mailbox tells the reader to stop; elements that were added before are still delivered.
@safe
public final class Mailbox<Element: Sendable>: @unchecked Sendable {
    // Sendable: `items` and `closed` are only accessed while `mutex` is held.
    private var items: [Element] = []
    private var closed = false
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let arrived: UnsafeMutablePointer<pthread_cond_t>

    /// Creates an open, empty mailbox.
    public init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe arrived = .allocate(capacity: 1)
        unsafe arrived.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // Timeouts must not change when the wall clock is set.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(arrived, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(arrived)
        unsafe pthread_mutex_destroy(mutex)
        unsafe arrived.deallocate()
        unsafe mutex.deallocate()
    }

    /// Appends an element and wakes the reader.
    ///
    /// - Parameters:
    ///   - element: the element to append.
    ///   - isUrgent: false to let the reader wait until an urgent element arrives or its timeout expires.
    /// - Returns: false if the mailbox is closed; the element is then dropped.
    @discardableResult
    public func put(_ element: Element, isUrgent: Bool = true) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        guard !closed else { return false }
        items.append(element)
        if isUrgent { unsafe pthread_cond_signal(arrived) }
        return true
    }

    /// Takes all waiting elements; blocks until there is one.
    ///
    /// - Parameter timeout: the longest time to block; nil for no limit, zero to return at once.
    /// - Returns: the elements in order; empty after the timeout; nil once closed and drained.
    public func take(timeout: Duration? = nil) -> [Element]? {
        let end = timeout.map { MonotonicDeadline(after: $0) }
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while items.isEmpty && !closed {
            if var end {
                guard unsafe pthread_cond_timedwait(arrived, mutex, &end.time) != ETIMEDOUT else { break }
            } else {
                unsafe pthread_cond_wait(arrived, mutex)
            }
        }
        guard !items.isEmpty else { return closed ? nil : [] }
        defer { items = [] }
        return items
    }

    /// Closes the mailbox for further elements and wakes the reader.
    public func close() {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        closed = true
        unsafe pthread_cond_broadcast(arrived)
    }
}

/// A time of CLOCK_MONOTONIC in the form that pthread takes.
private struct MonotonicDeadline {
    var time = timespec()

    init(after duration: Duration) {
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let (seconds, attoseconds) = duration.components
        let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000)
        time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        time.tv_nsec = nanoseconds % 1_000_000_000
    }
}
