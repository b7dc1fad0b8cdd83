internal import CEventFD
internal import Glibc

/// Wakes one thread that sleeps on descriptors, from any other thread.
///
/// An eventfd: waking twice before the sleeper looks counts once, and a wake before it sleeps is not lost. It carries
/// no data; whoever is woken looks at its own state. One sleeper for each signal. Where the system has no descriptor left
/// for it nobody is woken, and sleeps end by themselves.
public final class WakeSignal: Sendable {
    /// Readable while the signal is up; negative, which poll(2) skips, if there is none.
    package let descriptor: Int32
    /// Why there is no descriptor; nil if there is one.
    package let problem: String?

    /// Makes a signal that nobody has raised.
    public init() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        problem = descriptor < 0 ? unsafe String(cString: strerror(errno)) : nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the sleeper's present or next wait; never blocks.
    public func wake() {
        // Fails only when the counter is full, and then the signal is up anyway.
        eventfd_write(descriptor, 1)
    }

    /// Takes the signal down.
    ///
    /// - Returns: whether it was up.
    @discardableResult
    public func consume() -> Bool {
        var count: eventfd_t = 0
        return unsafe eventfd_read(descriptor, &count) == 0
    }
}
