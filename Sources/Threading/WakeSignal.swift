internal import CEventFD
internal import Glibc

/// Wakes one thread that waits on descriptors, from any other thread.
///
/// An eventfd: several wakes before the thread consumes them count as one, and a wake before the thread waits is not
/// lost. It carries no data; the woken thread checks its own state. Each signal has one waiting thread. If the process
/// has no descriptor left, wakes have no effect and waits end by their timeouts.
public final class WakeSignal: Sendable {
    /// Readable while the signal is raised; negative, which poll(2) ignores, if there is none.
    package let descriptor: Int32
    /// The reason why there is no descriptor; nil if there is one.
    package let problem: String?

    /// Creates a signal that is not raised.
    public init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        problem = descriptor < 0 ? unsafe String(cString: strerror(errno)) : nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the thread's current or next wait; never blocks.
    public func wake() {
        // Fails only if the counter is full; the signal is raised then anyway.
        eventfd_write(descriptor, 1)
    }

    /// Clears the signal.
    ///
    /// - Returns: whether it was raised.
    @discardableResult
    public func consume() -> Bool {
        var count: eventfd_t = 0
        return unsafe eventfd_read(descriptor, &count) == 0
    }
}
