internal import CNGHTTP2
import Glibc
internal import PushTransport

/// An eventfd that a poll watches beside its sockets.
final class EventWaker: TransportWaker {
    /// Readable after ``wake()``.
    let descriptor: Int32

    private init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Makes a waker.
    static func open() throws(TransportError) -> EventWaker {
        let descriptor = cnghttp2_eventfd()
        guard descriptor >= 0 else {
            throw TransportError(reason: .call("eventfd", problem: unsafe String(cString: strerror(errno))))
        }
        return EventWaker(owning: descriptor)
    }

    func wake() {
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Sleeps until it is woken or the time is over; what was said stays said.
    ///
    /// - Parameter nanoseconds: how long at most, less than a second.
    func wait(nanoseconds: Int64) {
        cnghttp2_doze(descriptor, nanoseconds)
    }

    /// Takes back what was said by ``wake()``.
    func reset() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
