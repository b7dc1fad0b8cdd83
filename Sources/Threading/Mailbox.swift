import Glibc

/// A queue from any number of threads to one that may sleep until something arrives.
///
/// Closing it is how a worker is told to stop: what was put in before is still handed out.
@safe
public final class Mailbox<Element: Sendable>: @unchecked Sendable {
    // Sendable: `items` and `closed` are only touched while `mutex` is held.
    private var items: [Element] = []
    private var closed = false
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let arrived: UnsafeMutablePointer<pthread_cond_t>

    /// Makes an open, empty mailbox.
    public init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe arrived = .allocate(capacity: 1)
        unsafe arrived.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // Deadlines must not jump when somebody sets the wall clock.
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
    ///   - element: what to hand over.
    ///   - isUrgent: false to let the reader sleep until something urgent comes or its time is over.
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

    /// Takes everything that is waiting, sleeping until there is something.
    ///
    /// - Parameter timeout: how long to sleep at most; nil for no limit, zero to only look.
    /// - Returns: what was waiting, in order; empty after the time-out; nil when closed and drained.
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

    /// Refuses further elements and wakes the reader.
    public func close() {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        closed = true
        unsafe pthread_cond_broadcast(arrived)
    }
}

/// A point on CLOCK_MONOTONIC in the form that pthread wants.
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
